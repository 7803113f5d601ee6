// Elements made from values. All text goes in as text: nothing that a spec or a model says is ever parsed as markup.

/** An element with attributes and children; a property that is false or null is left out. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export const byId = (id) => document.getElementById(id);

/** The page that an address is about: `/build/a/b` and `/preview/a/b` name `a/b`. */
export function pageOfAddress() {
  const path = decodeURIComponent(location.pathname).replace(/^\/(build|preview)(\/|$)/, "");
  return path === "/" ? "" : path.replace(/^\//, "");
}

/** The address of a page in one of the two views. */
export function address(view, page) {
  return `/${view}/${page.split("/").map(encodeURIComponent).join("/")}`;
}

/** Offers the pages of a folder, where there is more than one. */
export function offerPages(select, pages, current, view) {
  select.closest("label").hidden = pages.length < 2;
  const names = pages.map((page) => page.key).join("\n");
  if (select.dataset.names !== names) {
    select.dataset.names = names;
    select.replaceChildren(...pages.map((page) => element("option", { value: page.key }, page.key)));
    select.onchange = () => location.assign(address(view, select.value));
  }
  select.value = current;
}

const whole = new Intl.NumberFormat("en");
export const count = (number) => whole.format(Math.round(number));
export const percent = (part, all) => `${Math.floor((100 * part) / all)} %`;
export const seconds = (value) => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} s`;
