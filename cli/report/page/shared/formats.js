// Number formats of policy/formats.def: their order, and the shapes of their points in charts.
import {element} from "./elements.js";

export const shapes = JSON.parse(document.getElementById("number-formats").textContent);
export const formats = Object.keys(shapes); // the most exact first

export const swatch = (format) =>
  element("span", {class: `swatch ${format}`, "aria-hidden": "true"});
