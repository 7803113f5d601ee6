// The stream of news from the server. A tab that nobody sees closes it; when it is seen again it is told everything.

const AGAIN_MS = 1000;

/** Follows a page. `handlers` has a function for each kind of news, and `lost` for when the server is gone. */
export class News {
  token = "";
  /** How often the stream was opened: another server counts its builds anew. */
  opened = 0;
  #source = null;
  #timer = 0;
  #know;
  /** Fulfilled as soon as there is a token. */
  known = new Promise((resolve) => (this.#know = resolve));

  constructor(page, lanes, handlers) {
    const query = new URLSearchParams({ page });
    if (lanes) query.set("lanes", "");
    this.address = `/news?${query}`;
    this.handlers = handlers;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
    addEventListener("pagehide", () => this.#close());
    this.#open();
  }

  #open() {
    this.#close();
    const source = (this.#source = new EventSource(this.address));
    source.addEventListener("open", () => (this.opened += 1));
    source.addEventListener("board", (event) => {
      const board = JSON.parse(event.data);
      this.token = board.token;
      this.#know();
      this.handlers.board(board);
    });
    source.addEventListener("page", (event) => this.handlers.page(JSON.parse(event.data)));
    source.addEventListener("log", (event) => this.handlers.log(JSON.parse(event.data)));
    source.addEventListener("error", () => {
      this.handlers.lost();
      // A browser tries again by itself, but not after every kind of failure.
      if (source.readyState === EventSource.CLOSED) this.#timer = setTimeout(() => this.#open(), AGAIN_MS);
    });
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }
}

/** Send an order; gives its answer, or throws an Error whose `answer` says why it was refused. */
export async function send(address, order, token) {
  const response = await fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Pagec-Token": token },
    body: JSON.stringify(order),
  });
  return read(response);
}

/** The object of an answer; throws as `send` does. */
export async function read(response) {
  const isObject = response.headers.get("Content-Type")?.startsWith("application/json");
  const answer = isObject ? await response.json() : { message: await response.text() };
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.message), { answer, status: response.status });
}
