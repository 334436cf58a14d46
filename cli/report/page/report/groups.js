// Shows decisions with the same keys as one row, like `fp32shim report --by`.
import {$} from "../shared/elements.js";
import {sizeClassLimit, work} from "./decisions.js";

const textKeys = ["where", "scope", "caller", "function"];

// Returns the grouping that the user chose. Each key says whether rows are grouped by it. `any` is
// true if rows are grouped at all, perhaps only by precision, which always distinguishes groups.
export function chosenGrouping() {
  const words = $("filter-by").value.split(" ").filter(Boolean);
  const keys = Object.fromEntries([...textKeys, "size"].map((key) => [key, words.includes(key)]));
  return {...keys, any: words.length > 0};
}

function emptyGroup(row, texts) {
  return {
    isGroup: true,
    ...texts,
    max_dim_to: sizeClassLimit(row),
    requested: row.requested,
    format: row.format,
    reason: row.reason,
    refused: row.refused,
    decisions: 0,
    calls: 0,
    host_ns: 0,
    timed_calls: 0,
    flops_total: 0,
    host_ns_min: Infinity,
    host_ns_max: 0,
  };
}

function addRowToGroup(group, row) {
  for (const sum of ["decisions", "calls", "host_ns", "timed_calls"]) group[sum] += row[sum];
  for (const sum of ["gpu_samples", "gpu_calls", "gpu_ns"])
    group[sum] = (group[sum] ?? 0) + (row[sum] ?? 0);
  group.flops_total += work(row);
  group.host_ns_min = Math.min(group.host_ns_min, row.host_ns_min);
  group.host_ns_max = Math.max(group.host_ns_max, row.host_ns_max);
}

export function groupEntries(entries) {
  const by = chosenGrouping();
  const keys = textKeys.filter((key) => by[key]);
  const groups = new Map();
  for (const {row} of entries) {
    const texts = keys.map((key) => row[key]);
    const others = [by.size && sizeClassLimit(row), row.requested, row.format, row.reason];
    const id = [...texts, ...others].join("\n");
    if (!groups.has(id)) {
      groups.set(id, emptyGroup(row, Object.fromEntries(keys.map((key, i) => [key, texts[i]]))));
    }
    addRowToGroup(groups.get(id), row);
  }
  return [...groups.values()].map((row) => ({row, element: null}));
}
