// Number formats of policy/formats.def: their order, the shapes of their points in charts, and the
// hatches of their areas. Hatches distinguish formats whose colours look alike to some readers.
import {colour, element} from "./elements.js";

const drawings = JSON.parse(document.getElementById("number-formats").textContent);
export const formats = Object.keys(drawings); // the most exact first
export const shapeOf = (format) => drawings[format].shape;

// Returns the classes of page.css that hatch an area in the way of a format.
export const hatchClass = (format) => `hatch ${drawings[format].hatch}`;

// The hatches of areas on a canvas. An area is filled with copies of a square tile, and each hatch
// is the SVG path of the lines in a tile. The hatches look like those of page.css.
const tile = 6; // pixels
const hatchLines = {
  plain: "",
  rising: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5",
  falling: "M-1 -1L7 7M5 -1L7 1M-1 5L1 7",
  crossed: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5M-1 -1L7 7M5 -1L7 1M-1 5L1 7",
};

// Returns the fill of an area on a canvas: a colour, or a pattern in that colour.
export function areaFill(format) {
  const path = hatchLines[drawings[format].hatch];
  if (!path) return colour(format);
  const canvas = element("canvas", {width: 2 * tile, height: 2 * tile});
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.fillStyle = colour(format);
  context.fillRect(0, 0, tile, tile);
  context.strokeStyle = colour("page");
  context.lineWidth = 1.2;
  context.stroke(new Path2D(path));
  const pattern = context.createPattern(canvas, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
}

export const swatch = (format) =>
  element("span", {class: `swatch ${format} ${hatchClass(format)}`, "aria-hidden": "true"});
