// Makes the tooltip of a box: its full name, its source line and its calls.
import {element} from "../shared/elements.js";
import {swatch} from "../shared/formats.js";
import {percentText, quantities} from "../shared/text.js";

// Returns elements that name the formats of a node's calls with their shares.
export function formatShareElements(sums, node) {
  const all = sums.all[node];
  return sums
    .sumsByFormat(node)
    .flatMap(({format, part}) => [
      element("span", {class: "format"}, swatch(format), `${format} ${percentText(part, all)}`),
      " ",
    ]);
}

const note = (text) => element("span", {class: "note"}, text);

function sourceLineElements(tree, node) {
  const line = tree.line(node);
  const source = line ? tree.sources[tree.file(node)] : undefined;
  if (!source) return [];
  const code = source.lines?.[line];
  if (code === undefined) {
    return [note(`Its text is not shown: ${source.why ?? "the file has no such line"}.`)];
  }
  const change = source.changed && note("The file was changed after the first call.");
  return [element("code", {}, code || " "), change];
}

// Returns the elements in the tooltip of the box of `node`. `key` is the quantity that the graph
// shows. If `zoomNode` is not 0, the graph shows only this node and the nodes below it, and the
// tooltip also has the share of `node` in them.
export function tooltipElements(sums, key, node, zoomNode) {
  const {tree} = sums;
  const line = tree.line(node) ? `:${tree.line(node)}` : "";
  const amount = quantities[key](sums.all[node]);
  const ofShown = zoomNode
    ? `, ${percentText(sums.all[node], sums.all[zoomNode])} of what is shown`
    : "";
  return [
    element("strong", {}, node === 0 ? "all calls" : tree.name(node)),
    node !== 0 && tree.file(node) && element("span", {class: "file"}, tree.file(node) + line),
    ...sourceLineElements(tree, node),
    tree.frames(node) > 0 && note("A click shows its frames."),
    element("span", {}, `${amount}; ${percentText(sums.all[node], sums.all[0])} of all${ofShown}`),
    element("span", {}, ...formatShareElements(sums, node)),
  ].filter(Boolean);
}
