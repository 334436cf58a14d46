// Searches call paths for words in their names, files, line numbers and source text.
import {wordsOf} from "../shared/text.js";

function searchedPathText(tree, node) {
  const source = tree.sources[tree.file(node)]?.lines?.[tree.line(node)] ?? "";
  return `${tree.label(node)}\n${tree.file(node)}\n${source}`.toLowerCase();
}

// Returns 1 for each node whose text has all words, and 0 for others. Results are cached by name,
// file and line, which many nodes share.
function matchingNodes(tree, words) {
  const isMatch = new Uint8Array(tree.size);
  const known = new Map();
  for (let node = 1; node < tree.size; ++node) {
    const id = `${tree.columns.name[node]} ${tree.columns.file[node]} ${tree.line(node)}`;
    if (!known.has(id)) {
      const text = searchedPathText(tree, node);
      known.set(
        id,
        words.every((word) => text.includes(word)),
      );
    }
    isMatch[node] = known.get(id) ? 1 : 0;
  }
  return isMatch;
}

// Finds the nodes that match all words of `text`; returns null if it has no words. For each node,
// `isMatch` and `hasMatchBelow` are 1 if it matches, or if a node below it does. `count` is the
// number of matching nodes. `sum` adds up their calls, but counts a call below two matching nodes
// only once.
export function searchPaths(tree, sums, text) {
  const words = wordsOf(text);
  if (words.length === 0) return null;
  const isMatch = matchingNodes(tree, words);
  const hasMatchAbove = new Uint8Array(tree.size);
  const hasMatchBelow = new Uint8Array(tree.size);
  const matches = {isMatch, hasMatchBelow, count: 0, sum: 0};
  for (let node = 1; node < tree.size; ++node) {
    const parent = tree.parent(node);
    hasMatchAbove[node] = isMatch[parent] || hasMatchAbove[parent];
    matches.count += isMatch[node];
    if (isMatch[node] && !hasMatchAbove[node]) matches.sum += sums.all[node];
  }
  for (let node = tree.size - 1; node > 0; --node) {
    if (isMatch[node] || hasMatchBelow[node]) hasMatchBelow[tree.parent(node)] = 1;
  }
  return matches;
}
