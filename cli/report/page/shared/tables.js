// Shows tables that can be sorted by clicks on their heads. A column has a `title`, and a function
// `cell` that returns a text, an element, or a list of texts and elements for a row.
import {$, element} from "./elements.js";
import {count} from "./text.js";

export const textColumn = (title, cell, more) => ({title, cell, ...more});
export const numberColumn = (title, cell, more) => ({title, cell, number: true, ...more});

const classOf = ({number, class: own}) => [number && "number", own].filter(Boolean).join(" ");

const headCell = (column, content) =>
  element("th", {scope: "col", class: classOf(column)}, content);

function cellElement(column, row) {
  const contents = [column.cell(row)].flat();
  const properties = {class: classOf(column), ...(column.isRowHead && {scope: "row"})};
  // Narrow pages show the title in each cell.
  if (typeof column.title === "string") properties["data-title"] = column.title;
  return element(column.isRowHead ? "th" : "td", properties, ...contents);
}
export const rowElement = (columns, row) =>
  element("tr", {}, ...columns.map((column) => cellElement(column, row)));
export const wideRow = (columns, text, properties) =>
  element("tr", properties, element("td", {colSpan: columns.length}, text));

// Fills a table with `rows`. `more` is the number of further rows that are left out, for the line
// `and 5 more`.
export function fillTable(table, columns, rows, more = 0) {
  const heads = columns.map((column) => headCell(column, column.title));
  table.tHead.replaceChildren(element("tr", {}, ...heads));
  const body = table.tBodies[0];
  body.replaceChildren(...rows.map((row) => rowElement(columns, row)));
  if (more > 0) body.append(wideRow(columns, `and ${count(more)} more`));
}

export const tableOf = (id) => document.querySelector(`#${id} table`);

// Shows a section with a table whose cells are given as text.
export function showTextTable(id, {heads, rows, more}) {
  $(id).hidden = rows.length === 0;
  const titled = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const columns = heads.map(({title, number}, i) =>
    textColumn(titled(title), (row) => row[i], {number}),
  );
  fillTable(tableOf(id), columns, rows, more);
}

const isSortedByNumber = (column) => Boolean(column.number || column.class === "size");

// Shows the head of a table. A click on a column changes `order` and calls `redraw`.
export function showSortingHead(table, columns, order, redraw) {
  const sortBy = (column) => {
    const isSame = order.title === column.title;
    order.descending = isSame ? !order.descending : isSortedByNumber(column);
    order.title = column.title;
    redraw();
    const buttons = [...table.tHead.querySelectorAll("button")];
    buttons.find((button) => button.textContent === column.title).focus();
  };
  const heads = columns.map((column) => {
    const button = element("button", {type: "button"}, column.title);
    button.addEventListener("click", () => sortBy(column));
    const head = headCell(column, button);
    const direction = order.descending ? "descending" : "ascending";
    head.setAttribute("aria-sort", order.title === column.title ? direction : "none");
    return head;
  });
  table.tHead.replaceChildren(element("tr", {}, ...heads));
}

// Returns entries sorted by the values of a column. Each entry has a `row`.
export function sortedEntries(entries, column, descending) {
  const compare = isSortedByNumber(column)
    ? (a, b) => a - b
    : (a, b) => String(a).localeCompare(String(b), "en", {numeric: true});
  const keyed = entries.map((entry) => [column.value(entry.row), entry]);
  keyed.sort(([a], [b]) => (descending ? compare(b, a) : compare(a, b)));
  return keyed.map(([, entry]) => entry);
}
