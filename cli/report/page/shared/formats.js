// Number formats of policy/formats.def: their order, the shapes of their points in charts, and the
// hatches of their areas. Hatches tell formats apart whose colours look alike to some readers.
import {colour, element} from "./elements.js";

const drawings = JSON.parse(document.getElementById("number-formats").textContent);
export const formats = Object.keys(drawings); // the most exact first
export const shapeOf = (format) => drawings[format].shape;

// A hatch is drawn in the colour of the page, with lines 6 pixels apart.
const tile = 6;
const lineWidth = 1.2;
const hatches = {
  plain: {angles: [], path: ""},
  rising: {angles: [135], path: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"},
  falling: {angles: [45], path: "M-1 -1L7 7M5 -1L7 1M-1 5L1 7"},
  crossed: {angles: [135, 45], path: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5M-1 -1L7 7M5 -1L7 1M-1 5L1 7"},
};
const hatchOf = (format) => hatches[drawings[format]?.hatch ?? "plain"];

// Returns the images of CSS, one for each direction of lines, that hatch an area.
export function hatchImages(format) {
  const period = tile / Math.SQRT2;
  const begin = period - lineWidth;
  return hatchOf(format).angles.map(
    (angle) =>
      `repeating-linear-gradient(${angle}deg, transparent 0 ${begin.toFixed(2)}px, ` +
      `var(--page) ${begin.toFixed(2)}px ${period.toFixed(2)}px)`,
  );
}

// Returns the fill of an area on a canvas: a colour, or a pattern in that colour.
export function fillOf(format) {
  const {path} = hatchOf(format);
  if (!path) return colour(format);
  const canvas = element("canvas", {width: 2 * tile, height: 2 * tile});
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.fillStyle = colour(format);
  context.fillRect(0, 0, tile, tile);
  context.strokeStyle = colour("page");
  context.lineWidth = lineWidth;
  context.stroke(new Path2D(path));
  const pattern = context.createPattern(canvas, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5));
  return pattern;
}

export function swatch(format) {
  const result = element("span", {class: `swatch ${format}`, "aria-hidden": "true"});
  result.style.backgroundImage = hatchImages(format).join(", ");
  return result;
}
