// The decisions of the page. `singleDecisions` has one row of the table for each listed decision,
// and `groups` has rows that each sum up several other decisions.
import {data} from "../shared/page.js";
import {sum} from "../shared/text.js";

// Returns a row of the table from its values in the data, where texts are indices into one shared
// list.
function decodeRow(values) {
  const {columns, texts} = data.decisions.listed;
  const row = {decisions: 1};
  for (const [i, [name, isText]] of columns.entries()) {
    if (values[i] !== null) row[name] = isText ? texts[values[i]] : values[i];
  }
  return row;
}
export const singleDecisions = data.decisions.listed.rows.map(decodeRow);
export const groups = data.decisions.groups.map((group) => ({...group, isGroup: true}));
export const {rest} = data.decisions; // sums of the decisions that the page lacks

// --- Facts of a row

export const sizes = (row) => [row.m, row.n, row.k].filter((size) => size > 0);
const product = (numbers) => numbers.reduce((result, one) => result * one, 1);
export const meanSize = (row) => product(sizes(row)) ** (1 / sizes(row).length);
// Returns a value for sorting by size: the cube root of the number of multiplications, as far as
// the sizes are known.
export function sizeForSorting(row) {
  if (row.isGroup) return row.size ?? 0;
  return sizes(row).length ? (product(sizes(row)) * (row.batch ?? 1)) ** (1 / 3) : 0;
}
export const work = (row) => row.flops_total ?? (row.flops ?? 0) * row.calls;
export const meanTime = (row) => row.host_ns / Math.max(row.calls, 1);
// Times are estimates if not all calls were timed. Only some of the short calls are timed.
export const isEstimated = (row) => row.timed_calls < row.calls;
export const hasSpread = (row) => row.timed_calls > 1;
export const hasMedian = (row) => hasSpread(row) && row.host_ns_median !== undefined;

// Returns the upper limit of the size class to which a row belongs, by the largest of m, n and k;
// -1 if no size is known. The sizes in a class are above one power of two and at most the next one.
export function sizeClassLimit(row) {
  if (row.isGroup) return row.max_dim_to ?? -1;
  const largest = Math.max(row.m ?? -1, row.n ?? -1, row.k ?? -1);
  return largest < 1 ? largest : 2 ** Math.ceil(Math.log2(largest));
}

// --- Facts of a row as text

export function sizeText(row) {
  if (!row.function) return "?";
  const text = [row.m, row.n, row.k].map((length) => length ?? "?").join("×");
  return (row.sizes_folded ? "≤ " : "") + text;
}
export function sizeClassText(row) {
  const highest = sizeClassLimit(row);
  if (highest < 0) return "?";
  return highest <= 2 ? String(highest) : `${highest / 2 + 1}–${highest}`;
}
export const routeText = (row) => `${row.caller ?? "?"} → ${row.provider ?? "?"}`;
export const sourceText = (row) => (row.rule ? `rule “${row.rule}”` : (row.source ?? ""));
export const transposesText = (row) => (row.trans_a ?? "") + (row.trans_b ?? "");
export const functionText = (row) =>
  row.function ?? (row.isGroup && row.requested ? "all" : "found no room");
export function deviceText(row) {
  const index = row.device_index === undefined ? "" : ` ${row.device_index}`;
  return `${row.dtype}, ${row.device}${index}`;
}

export const sumOf = (entries, value) => sum(entries, ({row}) => value(row));
