// Colours the boxes of the flame graph. A box has a stripe for each format, which is as wide as the
// share of the format and has the hatch of the format.
import {colour, element} from "../shared/elements.js";
import {formats, hatchClass} from "../shared/formats.js";

const channels = (text) => [1, 3, 5].map((begin) => parseInt(text.slice(begin, begin + 2), 16));

// Returns a mixture of two colours. `share` is the share of the second colour, from 0 to 1.
function mixColours(from, to, share) {
  const [start, end] = [channels(from), channels(to)];
  return `rgb(${start.map((value, i) => Math.round(value + share * (end[i] - value))).join(" ")})`;
}

export class BoxPainter {
  constructor(sums) {
    this.sums = sums;
    const panel = colour("panel");
    this.full = Object.fromEntries(formats.map((format) => [format, colour(format)]));
    // Boxes have pale colours, so that text on them can be read.
    this.pale = Object.fromEntries(
      formats.map((format) => [format, mixColours(panel, this.full[format], 0.42)]),
    );
  }

  // Returns the formats of a node's calls, with the begin and the size of their stripes in percent.
  stripesOf(node) {
    let begin = 0;
    return this.sums.sumsByFormat(node).map(({format, part}) => {
      const size = (100 * part) / this.sums.all[node];
      const stripe = {format, begin, size};
      begin += size;
      return stripe;
    });
  }

  gradientOf(node, colours) {
    const stops = this.stripesOf(node).map(
      ({format, begin, size}) =>
        `${colours[format]} ${begin.toFixed(2)}% ${(begin + size).toFixed(2)}%`,
    );
    return stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
  }

  // Returns elements that hatch the stripes of a box.
  hatches(node) {
    const hatches = this.stripesOf(node).map(({format, begin, size}) => {
      const hatch = element("span", {class: hatchClass(format)});
      hatch.style.left = `${begin.toFixed(2)}%`;
      hatch.style.width = `${size.toFixed(2)}%`;
      return hatch;
    });
    return hatches.filter((hatch) => !hatch.classList.contains("plain"));
  }

  // Returns the CSS background of a box.
  background(node) {
    const edge = `${this.gradientOf(node, this.full)} bottom / 100% 3px no-repeat`;
    return `${edge}, ${this.gradientOf(node, this.pale)}`;
  }
}
