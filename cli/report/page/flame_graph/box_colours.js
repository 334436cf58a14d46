// Colours of boxes: stripes of the formats, as wide as their shares and with their hatches. In a
// comparison, the colour shows an increase or a decrease.
import {colour, element} from "../shared/elements.js";
import {formats, hatchClass} from "../shared/formats.js";

const channels = (text) => [1, 3, 5].map((begin) => parseInt(text.slice(begin, begin + 2), 16));

// Returns a mixture of two colours. `share` is that of the second colour, from 0 to 1.
function mixed(from, to, share) {
  const [start, end] = [channels(from), channels(to)];
  return `rgb(${start.map((value, i) => Math.round(value + share * (end[i] - value))).join(" ")})`;
}

export class BoxColours {
  constructor(sums) {
    this.sums = sums;
    this.isComparison = sums.tree.isComparison;
    const panel = colour("panel");
    this.full = Object.fromEntries(formats.map((format) => [format, colour(format)]));
    // Boxes have pale colours, so that text on them can be read.
    this.pale = Object.fromEntries(
      formats.map((format) => [format, mixed(panel, this.full[format], 0.42)]),
    );
    this.change = {none: colour("none"), more: colour("more"), less: colour("less")};
  }

  // Returns the formats of a side with the begin and the size of their stripes in percent.
  stripesOf(node, side = 0) {
    let begin = 0;
    const all = this.isComparison ? this.sums.ofSide(node, side) : this.sums.all[node];
    return this.sums.parts(node, side).map(({format, part}) => {
      const size = (100 * part) / all;
      const stripe = {format, begin, size};
      begin += size;
      return stripe;
    });
  }

  stripes(node, colours, side = 0) {
    const stops = this.stripesOf(node, side).map(
      ({format, begin, size}) =>
        `${colours[format]} ${begin.toFixed(2)}% ${(begin + size).toFixed(2)}%`,
    );
    return stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
  }

  // Returns elements that hatch the stripes: of the whole box or, in a comparison, of its edges.
  hatches(node) {
    const of = (side, edge) =>
      this.stripesOf(node, side).map(({format, begin, size}) => {
        const hatch = element("span", {class: `${hatchClass(format)} ${edge}`});
        hatch.style.left = `${begin.toFixed(2)}%`;
        hatch.style.width = `${size.toFixed(2)}%`;
        return hatch;
      });
    const all = this.isComparison ? [...of(0, "before"), ...of(1, "after")] : of(0, "");
    return all.filter((hatch) => !hatch.classList.contains("plain"));
  }

  // Returns the colour of a change. It is the more intense, the larger the change is.
  changeColour(node) {
    const before = this.sums.ofSide(node, 0);
    const after = this.sums.ofSide(node, 1);
    const share = before === after ? 0 : (after - before) / Math.max(before, after);
    const {none, more, less} = this.change;
    return mixed(none, share > 0 ? more : less, 0.75 * Math.abs(share));
  }

  // Returns the background of a box. In a comparison, the upper edge shows the formats of the first
  // side, the lower edge those of the second.
  background(node) {
    const edge = (side, position) =>
      `${this.stripes(node, this.full, side)} ${position} / 100% 3px no-repeat`;
    if (!this.isComparison) return `${edge(0, "bottom")}, ${this.stripes(node, this.pale)}`;
    return `${edge(0, "top")}, ${edge(1, "bottom")}, ${this.changeColour(node)}`;
  }
}
