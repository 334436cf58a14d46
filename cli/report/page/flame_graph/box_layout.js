// Computes the positions of the boxes of a flame graph. Nodes narrower than `leastWidth` get no
// box, so a tree may have a million nodes.
import {sum} from "../shared/text.js";

const leastWidth = 1.5; // pixels

// Returns the boxes of `zoomNode`, of its callers, and of all nodes below `zoomNode`. A box stands
// either for one `node`, or for several nodes that are too narrow, of which it has the `count`.
export function layOutBoxes(sums, zoomNode, width) {
  const path = sums.tree.pathTo(zoomNode);
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
