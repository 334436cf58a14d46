// The table of groups. It shows all groups, or only their calls below a box of the flame graph.
import {$, breakable, locationText} from "../shared/elements.js";
import {data} from "../shared/page.js";
import {
  numberColumn,
  rowElement,
  showSortingHead,
  sortedEntries,
  textColumn,
} from "../shared/tables.js";
import {count, counted, hostTime, percent, sum, wordsOf} from "../shared/text.js";
import {changeText, formatCells, sides} from "./sides.js";

const titles = {
  where: "Where",
  scope: "Scope",
  call_site: "Call site",
  caller: "Caller",
  function: "Function",
  max_dim: "Largest of m, n, k",
  ran_at: "Ran at",
};

function searchedText(group) {
  const keys = data.keys.map((key) => group.keys[key] ?? "");
  const ran = sides.flatMap((side) => group[side].formats.map(({format}) => format));
  return [...keys, ...ran].join("\n").toLowerCase();
}
const entries = data.groups.map((group) => ({row: group, text: searchedText(group)}));
let shown = entries;
const order = {title: "Change", descending: true};

// --- Columns: rows are sorted by `value` and show `cell`

const keyColumn = (key) =>
  textColumn(
    titles[key],
    ({keys}) => (key === "where" ? locationText : breakable)(keys[key] ?? "–"),
    {
      value: ({keys}) => keys[key] ?? "",
      class: key,
    },
  );

function formatsCell({formats}) {
  const calls = sum(formats, (one) => one.calls);
  return formats.length ? formatCells(formats, calls) : "–";
}
const formatsColumn = (title, side) =>
  textColumn(title, (group) => formatsCell(group[side]), {
    value: (group) => group[side].formats[0]?.format ?? "",
  });

const amountColumns = (title, key, text) =>
  sides.map((side) => {
    const cell = (group) => (group[side].calls ? text(group[side]) : "–");
    return numberColumn(`${title} ${side}`, cell, {value: (group) => group[side][key]});
  });

const amounts = ({before, after}) => [before[data.sort], after[data.sort]];
function changeSize(group) {
  const [before, after] = amounts(group);
  return Math.abs(after - before);
}

const columns = [
  ...data.keys.map(keyColumn),
  formatsColumn("Before", "before"),
  formatsColumn("After", "after"),
  ...amountColumns("Calls", "calls", ({calls}) => count(calls)),
  ...amountColumns("Host time", "host_ns", ({host_ns, estimated}) => hostTime(host_ns, estimated)),
  numberColumn("Change", (group) => changeText(...amounts(group)), {value: changeSize}),
];

// --- Selection of rows

export function showGroups() {
  const words = wordsOf($("filter-text").value);
  const isChosen = ({row, text}) =>
    (!$("filter-otherwise").checked || row.otherwise) && words.every((word) => text.includes(word));
  const column = columns.find(({title}) => title === order.title);
  const chosen = sortedEntries(shown.filter(isChosen), column, order.descending);
  showSortingHead($("decisions"), columns, order, showGroups);
  const rows = chosen.map(({row}) => rowElement(columns, row));
  $("decisions").tBodies[0].replaceChildren(...rows);
  $("shown").textContent =
    `Showing ${count(chosen.length)} of ${counted(shown.length, "group")}; ` +
    `${count(chosen.filter(({row}) => row.otherwise).length)} ran at another precision.`;
}

export function showAllGroups() {
  shown = entries;
  showGroups();
}

// Returns the calls of a group on one side that belong to a selection.
function partOf(selection, index, side) {
  const none = {calls: 0, host_ns: 0, work: 0, ran: new Map()};
  const {ran, ...sums} = selection.rows.get(index) ?? none;
  const formats = [...ran].map(([format, calls]) => ({format, calls}));
  formats.sort((a, b) => b.calls - a.calls);
  return {...sums, estimated: entries[index].row[side].estimated, formats};
}

function ranOtherwise(before, after) {
  const shares = ({formats, calls: all}) =>
    formats.map(({format, calls}) => `${format} ${percent(calls, all)}`).join();
  return before.calls > 0 && after.calls > 0 && shares(before) !== shares(after);
}

// Shows only those calls of groups that are below a box.
export function showGroupsBelow(selectionBefore, selectionAfter) {
  const indices = new Set([...selectionBefore.rows.keys(), ...selectionAfter.rows.keys()]);
  shown = [...indices].map((index) => {
    const before = partOf(selectionBefore, index, "before");
    const after = partOf(selectionAfter, index, "after");
    const otherwise = ranOtherwise(before, after);
    return {...entries[index], row: {...entries[index].row, before, after, otherwise}};
  });
  showGroups();
}
