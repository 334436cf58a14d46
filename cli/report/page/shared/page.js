// What all pages have: data, a title, warnings, forms, and reasons to draw again.
import {$, element} from "./elements.js";

export const data = JSON.parse($("data").textContent);

// Shows what every page has. `title`: the programs of the page, if known.
export function setUpPage(title) {
  $("programs").textContent = title || "Unknown program";
  document.title = `${title || "unknown program"} – ${document.title}`; // which is the command's
  $("version").textContent = data.version;
  for (const form of document.forms) {
    form.addEventListener("submit", (event) => event.preventDefault());
  }
}

// Shows warnings, each a list of texts and elements.
export function showWarnings(warnings) {
  $("warnings").hidden = warnings.length === 0;
  const items = warnings.map((content) => element("li", {}, ...content));
  document.querySelector("#warnings > ul").append(...items);
}

// Calls `redraw` whenever the page has another width or other colours.
export function redrawOnChange(redraw) {
  let width = innerWidth;
  let timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(redraw, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is light.
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.printing = "";
    redraw();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.printing;
    redraw();
  });
}
