// The five lanes: what each group has written, token by token, how fast, and with which guesses.

import { count, element, percent, seconds } from "./dom.js";

const NEAR_END_PX = 24;

/** All lanes of a page. `chosen` is called with the block and the number of a token, and its text. */
export class Lanes {
  #lanes = new Map(); // by group
  #blocks = new Map(); // by name
  #drawing = 0;

  constructor(place, totals, chosen) {
    this.place = place;
    this.totals = totals;
    this.chosen = chosen;
  }

  /** A new build: empty lanes for its groups. */
  begin(groups, number) {
    this.place.dataset.build = number;
    this.#lanes.clear();
    this.#blocks.clear();
    for (const group of groups) {
      const lane = new Lane(group, this.chosen);
      this.#lanes.set(group.name, lane);
      for (const block of lane.blocks.values()) this.#blocks.set(block.name, block);
    }
    this.place.replaceChildren(...[...this.#lanes.values()].map((lane) => lane.element));
    this.#draw();
  }

  /** What has happened since the last call. */
  add(entries) {
    for (const entry of entries) this.#blocks.get(entry.block)?.add(entry);
    this.#draw();
  }

  /** Tokens, guesses and the time from the first event to the last, of all lanes. */
  sums() {
    return sum([...this.#blocks.values()]);
  }

  get isWhole() {
    return this.#blocks.size > 0 && [...this.#blocks.values()].every((block) => !block.reused);
  }

  #draw() {
    this.#drawing ||= requestAnimationFrame(() => {
      this.#drawing = 0;
      for (const lane of this.#lanes.values()) lane.draw();
      showNumbers(this.totals, this.sums());
    });
  }
}

class Lane {
  constructor(group, chosen) {
    this.name = group.name;
    this.chosen = chosen;
    this.blocks = new Map(group.blocks.map((block) => [block.name, new Block(block)]));
    this.numbers = element("dl", { class: "numbers-of" });
    this.chips = element("ol", { class: "chips" }, ...[...this.blocks.values()].map((block) => block.chip));
    this.tape = element(
      "div",
      { class: "tape", role: "listbox", tabindex: "0", "aria-label": `Tokens of the lane ${group.name}` },
      ...[...this.blocks.values()].map((block) => block.place),
    );
    this.element = element(
      "article",
      { class: "lane", "data-lane": group.name },
      element("div", { class: "lane-head" }, element("h3", {}, group.name), this.chips, this.numbers),
      this.tape,
    );
    this.follows = true;
    this.tape.addEventListener("scroll", () => {
      this.follows = this.tape.scrollHeight - this.tape.scrollTop - this.tape.clientHeight < NEAR_END_PX;
    });
    this.tape.addEventListener("click", (event) => this.#choose(event.target.closest("[role=option]")));
    this.tape.addEventListener("keydown", (event) => this.#move(event));
  }

  draw() {
    const blocks = [...this.blocks.values()];
    for (const block of blocks) block.draw();
    showNumbers(this.numbers, sum(blocks));
    if (this.follows && blocks.some((block) => !block.reused)) this.tape.scrollTop = this.tape.scrollHeight;
  }

  #move(event) {
    const options = [...this.tape.querySelectorAll("[role=option]")];
    const now = options.indexOf(this.tape.querySelector("[aria-selected=true]"));
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const to = { Home: 0, End: options.length - 1 }[event.key] ?? now + steps[event.key];
    if (Number.isNaN(to) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#choose(options[Math.min(Math.max(to, 0), options.length - 1)]);
  }

  #choose(option) {
    if (!option) return;
    for (const other of document.querySelectorAll(".tape [aria-selected=true]")) other.setAttribute("aria-selected", "false");
    option.setAttribute("aria-selected", "true");
    option.id ||= `token-${this.name}-${[...this.tape.querySelectorAll("[role=option]")].indexOf(option)}`;
    this.tape.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
    this.chosen(this.blocks.get(option.parentElement.dataset.block).token(option));
  }
}

class Block {
  constructor({ name, kind }) {
    this.name = name;
    this.state = "waiting";
    this.reused = false;
    this.tokens = 0;
    this.drafted = 0;
    this.accepted = 0;
    this.from = Infinity;
    this.to = 0;
    this.chip = element("li", { title: kind }, name);
    this.place = element("div", { role: "group", "aria-label": name, "data-block": name });
    this.told = [];
    this.fresh = [];
    this.attempt = 1;
  }

  add(entry) {
    if (entry.at !== undefined) {
      this.from = Math.min(this.from, entry.at);
      this.to = Math.max(this.to, entry.at);
    }
    if (entry.count !== undefined) Object.assign(this, { tokens: entry.count, drafted: entry.drafted, accepted: entry.accepted });
    if (entry.kind === "block") this.#become(entry);
    else if (entry.kind === "tokens") this.fresh.push(...entry.tokens.map(([text, source, refused, rank]) => ({ text, source, refused, rank, traced: true })));
    else this.fresh.push({ text: entry.text, source: "", refused: "", rank: 0, traced: false });
  }

  /** What is known of the token that an option stands for. */
  token(option) {
    const index = this.told.findIndex((token) => token.option === option);
    return { ...this.told[index], block: this.name, index };
  }

  draw() {
    this.chip.dataset.state = this.state;
    this.chip.textContent = this.attempt > 1 ? `${this.name} ×${this.attempt}` : this.name;
    if (this.fresh.length === 0) return;
    for (const token of this.fresh) {
      token.option = option(token, this.reused);
      this.told.push(token);
    }
    this.place.append(...this.fresh.map((token) => token.option));
    this.fresh = [];
  }

  #become(entry) {
    this.state = entry.state;
    if (entry.state === "writing") {
      this.attempt = entry.attempt;
      this.told = [];
      this.fresh = [];
      this.place.replaceChildren();
    }
    if (entry.why) this.chip.title = entry.why;
    if (entry.state === "reused") this.reused = true;
    if (entry.text && this.told.length + this.fresh.length === 0) {
      this.fresh.push({ text: entry.text, source: "", refused: "", rank: 0, traced: false });
    }
  }
}

function option(token, reused) {
  const kinds = [token.source, token.refused ? "instead" : "", reused ? "reused" : ""].filter(Boolean);
  const made = element("span", { role: "option", "aria-selected": "false", class: kinds.join(" ") || null });
  if (token.refused) made.append(element("s", {}, token.refused));
  made.append(token.text);
  if (!token.text.trim()) made.setAttribute("aria-label", token.text.includes("\n") ? "line end" : "space");
  return made;
}

function sum(blocks) {
  const add = (name) => blocks.reduce((all, block) => all + block[name], 0);
  const from = Math.min(...blocks.map((block) => block.from));
  const to = Math.max(0, ...blocks.map((block) => block.to));
  return { tokens: add("tokens"), drafted: add("drafted"), accepted: add("accepted"), seconds: to > from ? to - from : 0, to };
}

function showNumbers(place, { tokens, drafted, accepted, seconds: time }) {
  const rows = [["tokens", count(tokens)]];
  if (time > 0) rows.push(["tokens/s", count(tokens / time)]);
  if (drafted > 0) rows.push(["accepted", percent(accepted, drafted)]);
  if (place.classList.contains("totals") && time > 0) rows.push(["time", seconds(time)]);
  const text = JSON.stringify(rows);
  if (place.dataset.shown === text) return;
  place.dataset.shown = text;
  place.replaceChildren(...rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}
