// Defines the columns of the table of decisions. `cell` returns the contents of a row's cell, and
// rows are sorted by `value`.
import {breakableName, element, locationElement, secondary} from "../shared/elements.js";
import {swatch} from "../shared/formats.js";
import {numberColumn, textColumn} from "../shared/tables.js";
import {count, counted, durationText, flopText, hostTime, percentText} from "../shared/text.js";
import {
  deviceText,
  functionText,
  hasMedian,
  hasSpread,
  isEstimated,
  meanTime,
  routeText,
  singleDecisions,
  sizeClassLimit,
  sizeClassText,
  sizeForSorting,
  sizeText,
  sourceText,
  transposesText,
  work,
} from "./decisions.js";
import {chosenGrouping} from "./groups.js";
import {view} from "./view.js";

const shareOfTime = (row) => percentText(row.host_ns, view.totals.host_ns);

// --- Contents of cells

const hostTimeCell = (row) => hostTime(row.host_ns, isEstimated(row));

function meanCell(row) {
  const isSpread = hasSpread(row) && row.host_ns_min < row.host_ns_max;
  const spread = `${durationText(row.host_ns_min)} – ${durationText(row.host_ns_max)}`;
  return [hostTime(meanTime(row), isEstimated(row)), isSpread && secondary(spread)];
}

function medianCell(row) {
  return hasMedian(row) ? durationText(row.host_ns_median) : "–";
}

function gpuTimeCell(row) {
  if (!(row.gpu_samples > 0)) return "–";
  const time = hostTime(row.gpu_ns, row.gpu_samples < row.gpu_calls);
  return [time, secondary(`${count(row.gpu_samples)} measured`)];
}

function timeShareCell(row) {
  const max = Math.max(view.totals.host_ns, 1);
  const bar = element("progress", {max, value: row.host_ns, "aria-hidden": "true"});
  return [shareOfTime(row), bar];
}

function requestedCell(row) {
  const source = sourceText(row);
  return [row.requested ?? "?", source !== row.requested && secondary(source)];
}

function appliedCell(row) {
  return [
    swatch(row.format),
    row.format,
    row.actual && secondary("as the library says"),
    row.how && row.how !== "forward" && secondary(row.how),
    row.algorithm && secondary(`algorithm ${row.algorithm}`),
  ];
}

function reasonCell(row) {
  const status = row.status > 0 && secondary(`status ${row.status}`);
  return [row.reason ?? "?", row.detail && secondary(row.detail), status];
}

function callSiteCell(row) {
  if (row.isGroup) return [`${counted(row.decisions, "decision")}, summed up`];
  const provider = breakableName(row.provider ?? "?");
  return [breakableName(row.caller ?? "?"), element("span", {class: "to"}, "→ ", provider)];
}

function functionCell(row) {
  return [functionText(row), row.dtype && secondary(deviceText(row))];
}

function sizeCell(row) {
  if (row.isGroup) return [sizeClassText(row), secondary("largest of m, n, k")];
  const more = [transposesText(row), row.batch > 1 && `batch ${row.batch}`].filter(Boolean);
  return [sizeText(row), more.length > 0 && secondary(more.join(", "))];
}

// The functions that make an element from the text of a label. A decision may lack a label, such as
// its scope; then its cell shows a dash.
const labelElement = {where: locationElement, scope: breakableName, caller: breakableName};
const labelCell = (key) => (row) =>
  row[key] ? labelElement[key](row[key]) : row.isGroup ? "" : "–";
const keyCell = (key) => (row) => labelElement[key](row[key] ?? "–");

// --- The columns

const keyValue = (key) => (row) => row[key] ?? "";

const labelColumn = (title, key) =>
  textColumn(title, labelCell(key), {
    value: keyValue(key),
    class: key,
    isNeeded: () => singleDecisions.some((row) => row[key]),
  });
const keyColumn = (title, key, cell = keyCell(key)) =>
  textColumn(title, cell, {
    value: keyValue(key),
    class: key,
    isNeeded: () => chosenGrouping()[key],
  });
const requestedColumn = (cell) => textColumn("Requested", cell, {value: keyValue("requested")});
const countColumn = (title, key, more) =>
  numberColumn(title, (row) => count(row[key]), {value: keyValue(key), ...more});

const accumulatorCell = ({accumulator: adds, accumulator_as_called: asCalled}) => [
  adds ?? "–",
  asCalled !== adds && secondary(`${asCalled ?? "?"} as called`),
];
const accumulatorColumn = textColumn("Adds in", accumulatorCell, {
  value: keyValue("accumulator"),
  isNeeded: () => singleDecisions.some((row) => row.accumulator),
});
const appliedColumn = textColumn("Applied", appliedCell, {
  value: keyValue("format"),
  class: "format",
});
const reasonColumn = textColumn("Reason", reasonCell, {value: keyValue("reason")});

const hostTimeValue = keyValue("host_ns");
const quantityColumns = [
  countColumn("Calls", "calls", {id: "calls"}),
  numberColumn("Host time", hostTimeCell, {id: "host_ns", value: hostTimeValue}),
  numberColumn("Mean", meanCell, {value: meanTime}),
  numberColumn("Median", medianCell, {
    value: (row) => row.host_ns_median ?? -1,
    isNeeded: () => !chosenGrouping().any && singleDecisions.some(hasMedian),
  }),
  numberColumn("GPU time", gpuTimeCell, {
    value: (row) => row.gpu_ns ?? -1,
    isNeeded: () => singleDecisions.some((row) => row.gpu_samples > 0),
  }),
  numberColumn("Work", (row) => flopText(work(row)), {id: "work", value: work}),
  numberColumn("Share", timeShareCell, {value: hostTimeValue}),
];

export const decisionColumns = [
  labelColumn("Where", "where"),
  labelColumn("Scope", "scope"),
  textColumn("Function", functionCell, {value: keyValue("function")}),
  textColumn("Size m×n×k", sizeCell, {value: sizeForSorting, class: "size"}),
  requestedColumn(requestedCell),
  appliedColumn,
  accumulatorColumn,
  reasonColumn,
  ...quantityColumns,
  textColumn("Call site", callSiteCell, {value: routeText, class: "site"}),
];

export const groupColumns = [
  keyColumn("Where", "where"),
  keyColumn("Scope", "scope"),
  keyColumn("Caller", "caller"),
  keyColumn("Function", "function", functionText),
  textColumn("Largest of m, n, k", sizeClassText, {
    value: sizeClassLimit,
    class: "size",
    isNeeded: () => chosenGrouping().size,
  }),
  requestedColumn((row) => row.requested ?? "?"),
  appliedColumn,
  reasonColumn,
  countColumn("Decisions", "decisions"),
  ...quantityColumns,
];
