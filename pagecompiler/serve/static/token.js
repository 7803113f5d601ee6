// One token: where it came from, and what else the model might have written in its place.

import { element } from "./dom.js";
import { read } from "./news.js";

/** Show a token of the build `number` of a page. */
export async function showToken(place, token, page, number) {
  const shown = element("code", {}, visible(token.text));
  place.hidden = false;
  place.replaceChildren(element("p", {}, shown, " ", story(token)));
  if (!token.traced) return;
  const query = new URLSearchParams({ page, number, block: token.block, index: token.index });
  let candidates;
  try {
    ({ candidates } = await read(await fetch(`/candidates?${query}`)));
  } catch (error) {
    place.append(element("p", { class: "hint" }, error.message));
    return;
  }
  if (!shown.isConnected) return; // another one has been chosen meanwhile
  const caption = element("caption", { class: "unseen" }, "The likeliest tokens at this place");
  const rows = candidates.map(([text, probability]) => row(text, probability, text === token.text));
  place.append(element("table", {}, caption, element("tbody", {}, ...rows)));
}

function story(token) {
  if (!token.traced) return "The tokens of this text were not recorded: it was reused, or nobody was looking.";
  if (token.source) return `was guessed by ${token.source} and approved.`;
  if (token.refused) return element("span", {}, "stands in place of the guess ", element("s", {}, visible(token.refused)), `, which was number ${token.rank} here.`);
  return "was not guessed: the model wrote it.";
}

function row(text, probability, isTaken) {
  const bar = element("span", { class: "share" });
  bar.style.setProperty("--share", probability);
  const name = element("th", { scope: "row" }, element("code", {}, visible(text)), isTaken ? " ✓" : "");
  return element("tr", { class: isTaken ? "taken" : null }, name, element("td", {}, bar), element("td", { class: "value" }, share(probability)));
}

function share(probability) {
  return probability < 0.0001 ? "< 0.01 %" : `${(100 * probability).toFixed(probability < 0.1 ? 2 : 1)} %`;
}

function visible(text) {
  return text.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll(" ", "␣");
}
