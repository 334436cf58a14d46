// Selects the calls below a box, to which the rest of the page is then limited.
import {formats} from "../shared/formats.js";

const noCalls = () => ({calls: 0, host_ns: 0, work: 0});

function markNodesBelow(tree, node) {
  const isBelow = new Uint8Array(tree.size);
  isBelow[node] = 1;
  for (let i = node + 1; i < tree.size; ++i) isBelow[i] = isBelow[tree.parent(i)];
  return isBelow;
}

function pathName(tree, node) {
  const names = tree
    .pathTo(node)
    .slice(1)
    .map((one) => tree.name(one));
  return (names.length > 4 ? "… › " : "") + names.slice(-4).join(" › ");
}

// Returns the value of `key` in `map`. If the map lacks the key, first adds the value that `make`
// returns.
function getOrMake(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}

// Returns the sums of the calls at `node` and below it. `name` names the path to the node. `rows`
// has the sum of each decision that the page lists, by its index in the list, and `other` has the
// sum of all other decisions. `formats` has the sums of all these calls by format.
export function selectCallsBelow(tree, node) {
  const isBelow = markNodesBelow(tree, node);
  const rows = new Map();
  const other = noCalls();
  const byFormat = new Map();
  const {columns} = tree;
  for (let i = 0; i < columns.node.length; ++i) {
    if (!isBelow[columns.node[i]]) continue;
    const format = formats[tree.formatIndex[i]];
    const sums = [getOrMake(byFormat, format, () => ({format, ...noCalls()}))];
    if (columns.row[i] >= 0) {
      sums.push(getOrMake(rows, columns.row[i], noCalls));
    } else {
      sums.push(other);
    }
    for (const one of sums) {
      for (const key of ["calls", "host_ns", "work"]) one[key] += columns[key][i];
    }
  }
  const inOrder = formats.map((format) => byFormat.get(format)).filter(Boolean);
  return {name: pathName(tree, node), rows, other, formats: inOrder};
}
