// Places of the boxes of a flame graph. Only what is wider than a pixel has one, so a tree may have
// a million nodes.
import {sum} from "../shared/text.js";

const leastWidth = 1.5; // pixels

// Returns the boxes: the callers of the node `zoomed`, itself, and what is below it. Each has a
// `node`, or for what is too narrow the `count` of call paths.
export function layOutBoxes(sums, zoomed, width) {
  const path = sums.tree.pathTo(zoomed);
  const boxes = path.map((node, row) => ({node, left: 0, width, row}));
  const waiting = [boxes.at(-1)];
  while (waiting.length) {
    const below = layOutCallees(sums, waiting.pop());
    boxes.push(...below);
    waiting.push(...below.filter(({node}) => node !== undefined));
  }
  return boxes;
}

function layOutCallees(sums, {node, left, width, row}) {
  const widthOf = (amount) => (width * amount) / sums.all[node];
  const least = (leastWidth * sums.all[node]) / width;
  const boxes = [];
  for (const child of sums.childrenFrom(node, least)) {
    boxes.push({node: child, left, width: widthOf(sums.all[child]), row: row + 1});
    left += boxes.at(-1).width;
  }
  const narrow = sums.childrenBelow(node, least);
  const rest = widthOf(sum(narrow, (child) => sums.all[child]));
  if (rest >= 1) boxes.push({count: narrow.length, left, width: rest, row: row + 1});
  return boxes;
}
