// Code shared by all pages: data, title, warnings, forms, and drawing again after a change.
import {$, element} from "./elements.js";

export const data = JSON.parse($("data").textContent);

// Shows the parts that every page has. `title` names the programs, if they are known.
export function setUpPage(title) {
  $("programs").textContent = title || "Unknown program";
  // Until this line, document.title is the command's name.
  document.title = `${title || "unknown program"} – ${document.title}`;
  $("version").textContent = data.version;
  for (const form of document.forms) {
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  makeTablesScrollable();
}

// Lets keys scroll every table that may be wider than the page.
function makeTablesScrollable() {
  for (const box of document.querySelectorAll(".scroll:not([tabindex])")) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", box.closest("section").getAttribute("aria-labelledby"));
  }
}

// Shows warnings, each a list of texts and elements.
export function showWarnings(warnings) {
  $("warnings").hidden = warnings.length === 0;
  const items = warnings.map((content) => element("li", {}, ...content));
  document.querySelector("#warnings > ul").append(...items);
}

// Calls `redraw` whenever the width or the colours of the page change.
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
  // Printing uses the light colours.
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.printing = "";
    redraw();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.printing;
    redraw();
  });
}
