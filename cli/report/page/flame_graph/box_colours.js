// Colours of boxes: stripes of the formats, as wide as their shares. In a comparison, the colour
// shows an increase or a decrease.
import {colour} from "../shared/elements.js";
import {formats} from "../shared/formats.js";

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

  stripes(node, colours, side = 0) {
    let begin = 0;
    const all = this.isComparison ? this.sums.ofSide(node, side) : this.sums.all[node];
    const stops = this.sums.parts(node, side).map(({format, part}) => {
      const end = begin + (100 * part) / all;
      const stop = `${colours[format]} ${begin.toFixed(2)}% ${end.toFixed(2)}%`;
      begin = end;
      return stop;
    });
    return stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
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
