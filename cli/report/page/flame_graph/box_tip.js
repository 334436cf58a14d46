// The tip of a box: its full name, its source line and its calls.
import {element} from "../shared/elements.js";
import {swatch} from "../shared/formats.js";
import {percent, quantities} from "../shared/text.js";

// Returns the formats of one side with their shares.
export function formatShares(sums, node, side = 0) {
  const all = sums.ofSide(node, side);
  return sums
    .parts(node, side)
    .flatMap(({format, part}) => [
      element("span", {class: "format"}, swatch(format), `${format} ${percent(part, all)}`),
      " ",
    ]);
}

// Returns a node's amount of the quantity `key`. In a comparison, returns those of both sides.
export function amountText(sums, key, node) {
  const text = quantities[key];
  if (!sums.tree.isComparison) return text(sums.all[node]);
  return `${text(sums.ofSide(node, 0))} → ${text(sums.ofSide(node, 1))}`;
}

function changeOf(sums, node) {
  const before = sums.ofSide(node, 0);
  const after = sums.ofSide(node, 1);
  if (before === 0 && after === 0) return "";
  if (before === 0) return ", new";
  if (after === 0) return ", gone";
  const share = (100 * Math.abs(after - before)) / before;
  return `, ${after < before ? "−" : "+"}${share.toFixed(1)} %`;
}

const note = (text) => element("span", {class: "note"}, text);

function sourceLine(tree, node) {
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

// Returns the elements in the tip of a box. `zoomed` is the top node of the graph that is shown.
export function tipOf(sums, key, node, zoomed) {
  const {tree} = sums;
  const {isComparison} = tree;
  const line = tree.line(node) ? `:${tree.line(node)}` : "";
  const amount = amountText(sums, key, node) + (isComparison ? changeOf(sums, node) : "");
  const ofShown = zoomed ? `, ${percent(sums.all[node], sums.all[zoomed])} of what is shown` : "";
  const shares = (words, side) => element("span", {}, words, ...formatShares(sums, node, side));
  return [
    element("strong", {}, node === 0 ? "all calls" : tree.name(node)),
    node !== 0 && tree.file(node) && element("span", {class: "file"}, tree.file(node) + line),
    ...sourceLine(tree, node),
    tree.frames(node) > 0 && note("A click shows its frames."),
    element("span", {}, `${amount}; ${percent(sums.all[node], sums.all[0])} of all${ofShown}`),
    isComparison && shares("before: ", 0),
    isComparison ? shares("after: ", 1) : shares("", 0),
  ].filter(Boolean);
}
