// Selects the calls that the page shows: all calls, or those below a box of the flame graph.
import {data} from "../shared/page.js";
import {sum} from "../shared/text.js";
import {groups, isEstimated, routeText, singleDecisions, sizeText} from "./decisions.js";

const searchedKeys =
  "function dtype device compute_capability trans_a trans_b caller where scope provider " +
  "requested source rule applied actual accumulator how reason detail format";
function searchableText(row) {
  const texts = searchedKeys.split(" ").map((key) => row[key] ?? "");
  if (!row.isGroup) texts.push(sizeText(row), routeText(row));
  return texts.join("\n").toLowerCase();
}

// The rows of the table. Each entry has the text that filters search and, after the row was drawn,
// the row's element.
export const entries = [...singleDecisions, ...groups].map((row) => ({
  row,
  element: null,
  text: searchableText(row),
}));

// Converts sums in the page's data to the names that the page's scripts use for quantities. Times
// are estimates if not all calls were timed.
const sumsOf = ({flops_total: work, timed_calls, ...sums}) => {
  const estimated = timed_calls > 0 && timed_calls < sums.calls;
  return {...sums, work, estimated};
};
export const totals = sumsOf(data.totals);
const allFormats = Object.entries(data.by_format).map(([format, sums]) => ({
  format,
  ...sumsOf(sums),
}));
const allCalls = {name: "", entries, formats: allFormats, totals};
export let view = allCalls;

export function forgetRowElements() {
  for (const entry of entries) entry.element = null;
}

// Returns an entry of the table with only some calls of its decision: their number `calls` and
// their time `host_ns`. Their shortest, longest and median times are not known.
function entryWithPart(entry, {calls, host_ns}) {
  if (calls === entry.row.calls) return entry;
  const timed_calls = isEstimated(entry.row) ? 0 : calls;
  const unknown = {
    host_ns_min: undefined,
    host_ns_max: undefined,
    host_ns_median: undefined,
    gpu_samples: 0,
  };
  return {...entry, row: {...entry.row, calls, host_ns, timed_calls, ...unknown}, element: null};
}

function viewOfSelection(selection) {
  const parts = [...selection.rows].map(([index, part]) => entryWithPart(entries[index], part));
  const formats = selection.formats.map((row) => {
    const all = allFormats.find(({format}) => format === row.format);
    return {...row, estimated: all?.estimated};
  });
  const total = (key) => sum(formats, (row) => row[key]);
  return {
    ...selection,
    entries: parts,
    formats,
    totals: {
      calls: total("calls"),
      host_ns: total("host_ns"),
      work: total("work"),
      decisions: parts.length,
    },
  };
}

// Sets the view to a selection of calls. Null selects all calls.
export function setView(selection) {
  forgetRowElements(); // shares in the elements depend on the view
  view = selection === null ? allCalls : viewOfSelection(selection);
}
