// The compiled page in a frame without scripts. A new version loads behind the old one and takes its place, and its
// scroll position, when it is there.

import { element } from "./dom.js";

const PAUSE_MS = 120;
const LOOKS_LIKE_SCREEN_PX = 480;
const SCREEN_PX = 1280;

export class Frames {
  #shown = null;
  #loading = null;
  #wanted = "";
  #current = "";
  #scroll = 0;
  #restored = 0;

  /** With `scaled` a narrow place shows the page as on a wide screen, made smaller. `followed` hears of links. */
  constructor(place, { scaled = false, followed = () => {} } = {}) {
    this.place = place;
    this.followed = followed;
    if (scaled) new ResizeObserver(() => this.#scale()).observe(place);
  }

  /** Show this address; of several that are wanted while one loads, the last. */
  show(address) {
    this.#wanted = address;
    if (this.#loading === null && address !== this.#current) this.#load();
  }

  #load() {
    this.#current = this.#wanted;
    const frame = element("iframe", {
      sandbox: "allow-same-origin",
      title: "The compiled page",
      class: "behind",
      tabindex: "-1",
      inert: true,
    });
    this.#loading = frame;
    frame.addEventListener("load", () => this.#swap(frame), { once: true });
    frame.src = this.#current;
    this.place.append(frame);
  }

  #swap(frame) {
    if (frame.contentDocument === null) {
      // The server has not answered: what is shown stays.
      const missed = this.#current;
      frame.remove();
      this.#loading = null;
      this.#current = "";
      if (this.#wanted !== missed) this.#load();
      return;
    }
    const old = this.#shown?.contentWindow;
    // What the reader has scrolled to counts, not what a page that was still short allowed.
    if (old && Math.abs(old.scrollY - this.#restored) > 1) this.#scroll = old.scrollY;
    const page = frame.contentWindow;
    page.scrollTo({ top: this.#scroll, behavior: "instant" });
    this.#restored = page.scrollY;
    frame.classList.remove("behind");
    frame.removeAttribute("inert");
    frame.removeAttribute("tabindex");
    this.#shown?.remove();
    this.#shown = frame;
    page.document.addEventListener("click", (event) => this.#follow(event));
    setTimeout(() => {
      this.#loading = null;
      if (this.#wanted !== this.#current) this.#load();
    }, PAUSE_MS);
  }

  #follow(event) {
    const link = event.target.closest?.("a[href]");
    if (!link) return;
    const here = new URL(link.ownerDocument.location.href);
    const there = new URL(link.href);
    if (there.origin === here.origin && there.pathname === here.pathname && there.hash) return;
    event.preventDefault();
    this.followed(there);
  }

  #scale() {
    const width = this.place.clientWidth;
    const scale = width < LOOKS_LIKE_SCREEN_PX ? 1 : width / SCREEN_PX;
    this.place.style.setProperty("--scale", String(scale));
    this.place.style.setProperty("--inverse", String(1 / scale));
  }
}
