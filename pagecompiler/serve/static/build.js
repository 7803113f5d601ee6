// The build view: the spec, the lanes that write its page, and the page.

import { address, byId, count, element, offerPages, pageOfAddress, seconds } from "./dom.js";
import { Editor } from "./editor.js";
import { Frames } from "./frames.js";
import { Lanes } from "./lanes.js";
import { News, read, send } from "./news.js";
import { showProblems } from "./problems.js";
import { showToken } from "./token.js";

let page = pageOfAddress();
let keys = [];
let board = null;
let head = null;
let base = null; // the digest of the text that the editor started from
let saved = "";
let asked = 0; // how often the text was asked for: only the last answer counts
let timed = null; // the build whose speed was noted
let wanted = ""; // the method that was chosen last and is on its way to the server
let choices = 0;
let noted = ""; // the last line of the server that was shown
let speeds = new Map(); // tokens a second of the last whole build, by method

const editor = new Editor(byId("editor"), showEdited);
const frames = new Frames(byId("frames"), { scaled: true, followed: (link) => say(`Not followed here: ${link.pathname}`) });
const lanes = new Lanes(byId("lanes"), byId("totals"), (token) => showToken(byId("token"), token, page, head.number));
const news = new News(page, true, { board: showBoard, page: showHead, log: showLog, lost });

byId("save").addEventListener("click", () => order(false));
byId("compile").addEventListener("click", () => order(true));
byId("load-theirs").addEventListener("click", () => loadSpec(true));
byId("keep-mine").addEventListener("click", keepMine);
addEventListener("keydown", (event) => {
  if (!event.ctrlKey && !event.metaKey) return;
  if (event.key === "s") order(false);
  else if (event.key === "Enter") order(true);
  else return;
  event.preventDefault();
});
addEventListener("beforeunload", (event) => {
  if (isEdited()) event.preventDefault();
});
makeMethods();

// News

function showBoard(now) {
  board = now;
  keys = board.pages.map((one) => one.key);
  page ||= keys[0] ?? "";
  offerPages(byId("pages"), board.pages, page, "build");
  byId("model").textContent = board.model;
  byId("to-preview").href = address("preview", page);
  document.body.classList.toggle("alone", !keys.includes(page));
  showMethod();
  showState();
}

function showHead(now) {
  const isNew = head?.number !== now.number;
  head = now;
  byId("compile").disabled = false;
  document.title = `${head.key} · pagec`;
  byId("file").textContent = head.spec;
  if (isNew) {
    lanes.begin(head.lanes, head.number);
    byId("token").hidden = true;
  }
  showProblems(byId("problems"), head.diagnostics, goTo);
  editor.mark(head.diagnostics.filter((found) => found.file === head.spec));
  showState();
  if (base === null || (head.digest !== base && !isEdited())) loadSpec();
  else showConflict(head.digest !== base);
  if (head.state !== "building") {
    showPage();
    noteSpeed();
  }
}

function showLog(log) {
  if (log.number !== head?.number) return;
  lanes.add(log.entries);
  if (head.state === "building") {
    const last = log.entries.at(-1).at ?? "";
    frames.show(`${address("pages", page)}.html?draft=${news.opened}.${head.number}.${last}`);
  } else noteSpeed();
}

function lost() {
  document.body.dataset.state = "lost";
  say("The server has gone; waiting for it");
}

function showPage() {
  if (head.written) frames.show(`${address("pages", page)}.html?good=${news.opened}.${head.number}.${head.good}`);
}

function showState() {
  if (!head || !board) return;
  document.body.dataset.state = board.loading ? "loading" : head.state;
  const errors = head.diagnostics.filter((found) => found.severity === "error").length;
  const texts = {
    waiting: "Not built yet",
    building: "Building …",
    ok: head.lanes.length ? `Built in ${seconds(head.seconds)}, ${head.method}` : "Up to date. COMPILE writes it again.",
    failed: `${errors} ${errors === 1 ? "error" : "errors"}; ${head.written ? "this is the last good page" : "there is no page yet"}`,
  };
  say(board.loading ? "Loading the model …" : texts[head.state]);
}

function say(text) {
  byId("page-state").textContent = text;
}

// The spec

/** Show the text of the file, but not in place of one that was edited meanwhile, unless that is `given up`. */
async function loadSpec(givenUp = false) {
  const number = ++asked;
  const query = new URLSearchParams({ page });
  try {
    const { text, digest } = await read(await fetch(`/spec?${query}`));
    if (number !== asked) return;
    if (isEdited() && !givenUp) {
      showConflict(digest !== base);
      return;
    }
    base = digest;
    saved = editor.text = text;
    editor.field.readOnly = false;
  } catch (error) {
    if (number !== asked) return;
    editor.field.readOnly = true;
    say(error.message);
  }
  showConflict(false);
  showEdited();
}

function isEdited() {
  return base !== null && editor.text !== saved;
}

function showEdited() {
  byId("edited").hidden = !isEdited();
  byId("save").disabled = !isEdited();
}

function showConflict(differs) {
  byId("conflict").hidden = !differs;
  const text = "The file has changed on disk since you began to edit.";
  if (differs) byId("conflict").querySelector("p").textContent = text;
}

function keepMine() {
  base = head.digest;
  showConflict(false);
  editor.field.focus();
}

async function order(anew) {
  if (!head || (!anew && !isEdited())) return;
  const text = editor.text;
  const change = isEdited() ? { text, digest: base } : {};
  try {
    const { digest } = await send("/compile", { page, anew, ...change }, news.token);
    if (change.text !== undefined) [base, saved] = [digest, text];
    showConflict(false);
  } catch (error) {
    if (error.status === 409) {
      head.digest = error.answer.digest;
      showConflict(true);
    } else say(error.message);
  }
  showEdited();
}

function goTo(found) {
  if (found.file === head.spec) editor.goTo(found.line, found.column);
}

// Methods

async function makeMethods() {
  const methods = await read(await fetch("/methods"));
  const place = byId("methods");
  for (const { name, usable, why } of methods) {
    const input = element("input", { type: "radio", name: "method", value: name, disabled: !usable });
    const speed = element("small", { "data-speed": name });
    place.append(element("label", { title: why || null }, input, element("span", {}, name, speed)));
  }
  place.addEventListener("change", (event) => chooseMethod(event.target.value));
  if (methods.every((method) => !method.usable)) note(`Method: ${methods[0].why}.`);
  showMethod();
}

async function chooseMethod(method) {
  const number = ++choices;
  wanted = method;
  try {
    await news.known;
    await send("/method", { method }, news.token);
    board.method = method;
    note(`The next build uses ${method}; the model is loaded anew for it.`);
  } catch (error) {
    note(error.message);
  }
  if (number === choices) wanted = "";
  showMethod();
}

function showMethod() {
  const input = document.querySelector(`input[name=method][value="${wanted || board?.method}"]`);
  if (input && !input.disabled) input.checked = true;
  const last = board?.notes.at(-1) ?? "";
  if (last !== noted) note(last);
  noted = last;
}

function note(text) {
  byId("method-note").hidden = !text;
  byId("method-note").textContent = text;
}

/** Remember how fast a build was that wrote every block, to compare methods. */
function noteSpeed() {
  const { tokens, seconds: time } = lanes.sums();
  if (head.state !== "ok" || !lanes.isWhole || !time) return;
  speeds.set(head.method, tokens / time);
  for (const [method, speed] of speeds) {
    const place = document.querySelector(`[data-speed="${method}"]`);
    if (place) place.textContent = `${count(speed)}/s`;
  }
  if (timed !== head.number) note("");
  timed = head.number;
}
