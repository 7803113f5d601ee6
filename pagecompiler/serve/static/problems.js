// Messages about a spec: where, what, and what to do.

import { element } from "./dom.js";

/** Fill a place with messages, the errors first; it is hidden when there are none. `go` is called with a line. */
export function showProblems(place, diagnostics, go = null) {
  const rank = { error: 0, warning: 1, note: 2 };
  const sorted = [...diagnostics].sort((a, b) => rank[a.severity] - rank[b.severity]);
  place.hidden = sorted.length === 0;
  place.replaceChildren(element("ul", {}, ...sorted.map((found) => problem(found, go))));
}

function problem(found, go) {
  const where = found.file === null ? "" : [found.file, found.line, found.column].filter((part) => part !== null).join(":");
  const isLink = go !== null && found.line !== null;
  const place = element(isLink ? "button" : "span", isLink ? { type: "button", class: "where" } : { class: "where" }, where);
  if (isLink) place.addEventListener("click", () => go(found));
  const item = element(
    "li",
    { class: found.severity },
    element("p", { class: "what" }, place, element("strong", {}, `${found.severity}[${found.code}]`), " ", found.message),
  );
  if (found.excerpt) item.append(excerpt(found));
  if (found.hint) item.append(element("p", { class: "hint" }, found.hint));
  return item;
}

function excerpt(found) {
  const characters = [...found.excerpt];
  const start = found.column - 1;
  const end = found.end_line === found.line ? Math.max(found.end_column - 1, start + 1) : characters.length;
  const text = (from, to) => characters.slice(from, to).join("");
  return element(
    "pre",
    {},
    element("span", { class: "number" }, `${found.line} `),
    text(0, start),
    element("mark", {}, text(start, end)),
    text(end),
  );
}
