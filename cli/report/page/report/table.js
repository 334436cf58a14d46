// Shows the table of decisions, or of groups of decisions.
import {$} from "../shared/elements.js";
import {data} from "../shared/page.js";
import {rowElement, showSortingHead, sortedEntries, wideRow} from "../shared/tables.js";
import {counted} from "../shared/text.js";
import {decisionColumns, groupColumns} from "./columns.js";
import {chosenGrouping, groupEntries} from "./groups.js";
import {entries} from "./view.js";

const rowsAtOnce = 1000;

let chosenEntries = entries;
let rowLimit = rowsAtOnce;
const sortedColumn = decisionColumns.find(({id}) => id === data.sort);
const order = {title: sortedColumn.title, descending: true};

function neededColumns() {
  const columns = chosenGrouping().any ? groupColumns : decisionColumns;
  return columns.filter((column) => column.isNeeded?.() ?? true);
}

function showRows() {
  const columns = neededColumns();
  const column =
    columns.find(({title}) => title === order.title) ?? columns.find(({id}) => id === "host_ns");
  order.title = column.title;
  const rows = chosenGrouping().any ? groupEntries(chosenEntries) : chosenEntries;
  const sorted = sortedEntries(rows, column, order.descending);
  showSortingHead($("decisions"), columns, order, showRows);
  const body = $("decisions").tBodies[0];
  const shown = sorted.slice(0, rowLimit);
  for (const entry of shown) entry.element ??= rowElement(columns, entry.row);
  body.replaceChildren(...shown.map((entry) => entry.element));
  if (sorted.length === 0) {
    const text = entries.length ? "No decision matches the filter." : "No calls were recorded.";
    body.append(wideRow(columns, text, {class: "none"}));
  }
  $("more").hidden = sorted.length <= rowLimit;
  $("more-rows").textContent = `${counted(sorted.length - rowLimit, "more row")} of this table`;
}

export function showEntries(someEntries) {
  chosenEntries = someEntries;
  rowLimit = rowsAtOnce;
  showRows();
}

export function setUpTable() {
  $("more")
    .querySelector("button")
    .addEventListener("click", () => {
      rowLimit = Infinity;
      showRows();
    });
}
