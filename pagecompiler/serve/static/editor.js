// A text field with line numbers, marks for the lines that have messages, and a little colour.

import { element } from "./dom.js";

// Beyond this, painting each key stroke would be felt; the text is then shown by the field itself.
const MOST_PAINTED = 60_000;

const PIECES = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|([A-Za-z_][\w-]*)(?=:(?:\s|$))|([-{}[\],:|>&*]+)|[^\s#"'{}[\],:|>&*-]+|\s+|./g;

export class Editor {
  #marked = new Map();

  constructor(place, changed) {
    this.field = place.querySelector("textarea");
    this.paint = place.querySelector(".paint");
    this.numbers = place.querySelector(".numbers pre");
    this.field.addEventListener("input", () => {
      this.#draw();
      changed();
    });
    this.field.addEventListener("scroll", () => this.#align());
    this.field.addEventListener("keydown", (event) => this.#indent(event));
    this.#draw();
  }

  get text() {
    return this.field.value;
  }

  /** Replace the text, the cursor stays where it is as far as possible. */
  set text(text) {
    const { selectionStart, selectionEnd, scrollTop, scrollLeft } = this.field;
    this.field.value = text;
    this.field.setSelectionRange(selectionStart, selectionEnd);
    Object.assign(this.field, { scrollTop, scrollLeft });
    this.#draw();
  }

  /** Mark the lines that messages are about. */
  mark(diagnostics) {
    this.#marked.clear();
    for (const found of diagnostics) {
      if (found.line !== null && this.#marked.get(found.line) !== "error") this.#marked.set(found.line, found.severity);
    }
    this.#number();
  }

  /** Put the cursor to a place; line and column count from 1. */
  goTo(line, column) {
    const lines = this.text.split("\n").slice(0, line);
    const here = [...(lines.pop() ?? "")].slice(0, column - 1).join("");
    const position = [...lines, here].join("\n").length;
    this.field.focus();
    this.field.setSelectionRange(position, position);
    const height = parseFloat(getComputedStyle(this.field).lineHeight);
    this.field.scrollTop = Math.max(0, (line - 1) * height - this.field.clientHeight / 2);
  }

  #draw() {
    const painted = this.text.length <= MOST_PAINTED;
    this.field.classList.toggle("painted", painted);
    this.paint.replaceChildren(...(painted ? this.text.split("\n").map(paintedLine) : []));
    this.#number();
    this.#align();
  }

  #number() {
    const lines = this.text.split("\n").length;
    const numbers = [];
    for (let line = 1; line <= lines; line += 1) {
      const severity = this.#marked.get(line);
      numbers.push(severity ? element("span", { class: severity }, String(line)) : String(line), "\n");
    }
    this.numbers.replaceChildren(...numbers);
  }

  #align() {
    const { scrollTop, scrollLeft } = this.field;
    this.paint.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-scrollTop}px)`;
  }

  /** A new line begins where the one before it began. */
  #indent(event) {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
    const line = this.text.slice(0, this.field.selectionStart).split("\n").at(-1);
    const indent = line.match(/^ */)[0];
    if (!indent) return;
    event.preventDefault();
    // The only way to insert text that the field's own undo knows.
    document.execCommand("insertText", false, `\n${indent}`);
  }
}

function paintedLine(line) {
  const made = element("span");
  for (const match of line.matchAll(PIECES)) {
    const [text, comment, string, key, mark] = match;
    const before = line[match.index - 1] ?? " ";
    const isComment = comment && /\s/.test(before);
    const isString = string && /[\s[{,]/.test(before);
    const kind = isComment ? "comment" : isString ? "string" : key ? "key" : mark ? "mark" : "";
    made.append(kind ? element("i", { class: kind }, text) : text);
  }
  made.append("\n");
  return made;
}
