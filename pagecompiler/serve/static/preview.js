// The preview: the page, reloaded after every build, and what is wrong when there is none.

import { address, byId, offerPages, pageOfAddress, seconds } from "./dom.js";
import { Frames } from "./frames.js";
import { News } from "./news.js";
import { showProblems } from "./problems.js";

let page = pageOfAddress();
let keys = [];
let head = null;

const frames = new Frames(byId("frames"), { followed: follow });

const news = new News(page, false, {
  board(board) {
    keys = board.pages.map((one) => one.key);
    page ||= keys[0] ?? "";
    offerPages(byId("pages"), board.pages, page, "preview");
    byId("to-build").href = address("build", page);
    if (board.loading) say("loading", "Loading the model …");
    else if (!keys.includes(page)) say("failed", "There is no such page");
    else if (head) showState();
  },
  page(now) {
    head = now;
    document.title = `${head.key} · pagec preview`;
    showProblems(byId("problems"), head.state === "failed" ? head.diagnostics : []);
    showState();
    if (head.state !== "building") showPage();
  },
  log(log) {
    if (head?.state === "building") frames.show(`${address("pages", page)}.html?draft=${news.opened}.${head.number}.${log.read}`);
  },
  lost() {
    say("lost", "The server has gone; waiting for it");
  },
});

function showPage() {
  if (head.written) frames.show(`${address("pages", page)}.html?good=${news.opened}.${head.number}.${head.good}`);
}

function showState() {
  const errors = head.diagnostics.filter((found) => found.severity === "error").length;
  const texts = {
    waiting: "Waiting for the first build",
    building: "Building …",
    ok: `Built in ${seconds(head.seconds)}`,
    failed: `${errors} ${errors === 1 ? "error" : "errors"}; ${head.written ? "this is the last good page" : "there is no page yet"}`,
  };
  say(head.state, texts[head.state]);
}

function say(state, text) {
  document.body.dataset.state = state;
  byId("state").textContent = text;
}

function follow(link) {
  const key = decodeURIComponent(link.pathname).match(/^\/pages\/(.*)\.html$/)?.[1];
  if (link.origin === location.origin && keys.includes(key)) location.assign(address("preview", key));
  else say("away", `Not followed here: ${link.origin === location.origin ? link.pathname : link.href}`);
}
