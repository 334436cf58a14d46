// Columns of the table of decisions. Rows are sorted by `value` and show `cell`. A narrow page
// leaves out columns that are `wide`.
import {breakable, element, second} from "../shared/elements.js";
import {swatch} from "../shared/formats.js";
import {numberColumn, textColumn} from "../shared/tables.js";
import {count, counted, duration, flops, hostTime, percent} from "../shared/text.js";
import {
  deviceText,
  functionText,
  hasMedian,
  hasSpread,
  isEstimated,
  listed,
  meanLength,
  meanTime,
  routeText,
  sizeClass,
  sizeClassText,
  sizeText,
  sourceText,
  transposesText,
  work,
} from "./decisions.js";
import {grouping} from "./groups.js";
import {view} from "./view.js";

const part = (kind, ...content) => element("span", {class: `second ${kind}`}, ...content);
const shareOfTime = (row) => percent(row.host_ns, view.totals.host_ns);

// --- Contents of cells

function hostTimeCell(row) {
  return [hostTime(row.host_ns, isEstimated(row)), part("tight", shareOfTime(row))];
}

function meanCell(row) {
  const isSpread = hasSpread(row) && row.host_ns_min < row.host_ns_max;
  const spread = `${duration(row.host_ns_min)} – ${duration(row.host_ns_max)}`;
  return [hostTime(meanTime(row), isEstimated(row)), isSpread && second(spread)];
}

function medianCell(row) {
  return hasMedian(row) ? duration(row.host_ns_median) : "–";
}

function shareCell(row) {
  const max = Math.max(view.totals.host_ns, 1);
  const bar = element("progress", {max, value: row.host_ns, "aria-hidden": "true"});
  return [shareOfTime(row), bar];
}

function appliedCell(row) {
  return [
    swatch(row.format),
    row.format,
    row.actual && second("as the library says"),
    row.how && row.how !== "forward" && part("wide", row.how),
    row.refused && part("narrow warning", `not ${row.requested}`),
  ];
}

function reasonCell(row) {
  const status = row.status > 0 && second(`status ${row.status}`);
  return [row.reason ?? "?", row.detail && second(row.detail), status];
}

function siteCell(row) {
  if (row.isGroup) return [`${counted(row.decisions, "decision")}, summed up`];
  const provider = breakable(row.provider ?? "?");
  return [breakable(row.caller ?? "?"), element("span", {class: "to"}, "→ ", provider)];
}

function functionCell(row) {
  const sizesOfGroup = `${counted(row.decisions, "size")} of ${sizeClassText(row)}`;
  return [
    functionText(row),
    row.dtype && part("wide", deviceText(row)),
    part("narrow size", row.isGroup ? sizesOfGroup : sizeText(row)),
    row.scope && part("narrow", "in ", breakable(row.scope)),
  ];
}

function sizeCell(row) {
  if (row.isGroup) return [sizeClassText(row), second("largest of m, n, k")];
  const more = [transposesText(row), row.batch > 1 && `batch ${row.batch}`].filter(Boolean);
  return [sizeText(row), more.length > 0 && second(more.join(", "))];
}

// Returns a function that makes the cell of a label. A decision may lack the label.
const labelCell = (key) => (row) => (row[key] ? breakable(row[key]) : row.isGroup ? "" : "–");
const keyCell = (key) => (row) => breakable(row[key] ?? "–");

// --- The columns

const keyValue = (key) => (row) => row[key] ?? "";

const labelColumn = (title, key) =>
  textColumn(title, labelCell(key), {
    value: keyValue(key),
    wide: true,
    class: "scope",
    isNeeded: () => listed.some((row) => row[key]),
  });
const keyColumn = (title, key, cell = keyCell(key)) =>
  textColumn(title, cell, {value: keyValue(key), isNeeded: () => grouping()[key]});
const requestedColumn = (cell) =>
  textColumn("Requested", cell, {value: keyValue("requested"), wide: true});
const countColumn = (title, key, more) =>
  numberColumn(title, (row) => count(row[key]), {value: keyValue(key), ...more});

const applied = textColumn("Applied", appliedCell, {value: keyValue("format"), class: "format"});
const reason = textColumn("Reason", reasonCell, {value: keyValue("reason"), wide: true});

const hostTimeValue = keyValue("host_ns");
const amounts = [
  countColumn("Calls", "calls", {id: "calls"}),
  numberColumn("Host time", hostTimeCell, {id: "host_ns", value: hostTimeValue}),
  numberColumn("Mean", meanCell, {value: meanTime, wide: true}),
  numberColumn("Median", medianCell, {
    value: (row) => row.host_ns_median ?? -1,
    wide: true,
    isNeeded: () => !grouping().any && listed.some(hasMedian),
  }),
  numberColumn("Work", (row) => flops(work(row)), {id: "work", value: work, wide: true}),
  numberColumn("Share", shareCell, {value: hostTimeValue, class: "roomy", wide: true}),
];

export const decisionColumns = [
  textColumn("Call site", siteCell, {value: routeText, wide: true, class: "site"}),
  labelColumn("Where", "where"),
  labelColumn("Scope", "scope"),
  textColumn("Function", functionCell, {value: keyValue("function")}),
  textColumn("Size m×n×k", sizeCell, {value: meanLength, class: "size", wide: true}),
  requestedColumn((row) => [row.requested ?? "?", second(sourceText(row))]),
  applied,
  reason,
  ...amounts,
];

export const groupColumns = [
  keyColumn("Where", "where"),
  keyColumn("Scope", "scope"),
  keyColumn("Caller", "caller"),
  keyColumn("Function", "function", functionText),
  textColumn("Largest of m, n, k", sizeClassText, {
    value: sizeClass,
    class: "size",
    isNeeded: () => grouping().size,
  }),
  requestedColumn((row) => row.requested ?? "?"),
  applied,
  reason,
  countColumn("Decisions", "decisions", {wide: true}),
  ...amounts,
];
