// The tables of calls, times and precisions: of both runs, and by group.
import {$, breakable, element, locationText, showNote} from "../shared/elements.js";
import {swatch} from "../shared/formats.js";
import {data} from "../shared/page.js";
import {fillTable, numberColumn, textColumn} from "../shared/tables.js";
import {count, counted, flops, hostTime, percent} from "../shared/text.js";

const titles = {
  where: "Where",
  scope: "Scope",
  call_site: "Call site",
  caller: "Caller",
  function: "Function",
  max_dim: "Largest of m, n, k",
  ran_at: "Precision",
};

// Returns a change as text: `−12.3 %`, `only in B` or `only in A`.
function changeText(a, b) {
  if (a === b) return "–";
  if (a === 0) return "only in B";
  if (b === 0) return "only in A";
  const share = (100 * (b - a)) / a;
  const size = Math.abs(share);
  return `${share < 0 ? "−" : "+"}${size.toFixed(size < 10 ? 1 : 0)} %`;
}

// Returns the formats at which calls ran, the most frequent first, with their shares.
function formatCells({applied, calls}) {
  const formats = Object.entries(applied).sort(([, a], [, b]) => b - a);
  if (formats.length === 0) return "–";
  return formats.flatMap(([format, part]) => {
    const words = formats.length === 1 ? format : `${format} ${percent(part, calls)}`;
    return [element("span", {class: "format"}, swatch(format), words), " "];
  });
}

const timeText = ({host_ns, timed_calls, calls}) =>
  timed_calls === 0 ? "–" : hostTime(host_ns, timed_calls < calls);

// Returns columns of a quantity in both runs.
const columnsOfBoth = (makeColumn, title, cell) =>
  ["a", "b"].map((side) => makeColumn(`${title} ${side.toUpperCase()}`, (row) => cell(row[side])));

export const amountColumns = [
  ...columnsOfBoth(numberColumn, "Calls", ({calls}) => count(calls)),
  ...columnsOfBoth(numberColumn, "Host time", timeText),
  numberColumn("Change", ({a, b}) => changeText(a.host_ns, b.host_ns)),
  ...columnsOfBoth(numberColumn, "Work", ({flops_total}) => flops(flops_total)),
  ...columnsOfBoth(textColumn, "Ran at", formatCells),
];

export function showChanges() {
  const keyColumns = data.by.map((key) =>
    textColumn(titles[key], (row) => (key === "where" ? locationText : breakable)(row[key] ?? "–")),
  );
  fillTable($("changes"), [...keyColumns, ...amountColumns], data.changes);
  const groups = counted(data.changes.length + data.more_changes, "group");
  $("changes-answer").textContent =
    `${count(data.groups_at_other_precision)} of ${groups} ran at another precision.`;
  showNote(
    "more-changes",
    data.more_changes > 0 &&
      `${counted(data.more_changes, "further group")} changed less and are not on this page; ` +
        "fp32shim diff --format json has all.",
  );
}
