// Draws the page of `fp32shim diff`.
import {$, breakable, secondary, showNote} from "../shared/elements.js";
import {data, redrawOnChange, setUpPage, showWarnings} from "../shared/page.js";
import {fillTable, numberColumn, textColumn} from "../shared/tables.js";
import {count, counted} from "../shared/text.js";
import {amountColumns, showChanges} from "./changes.js";
import {differenceText, drawGrowth} from "./growth.js";

const sides = ["a", "b"];

// Returns a fact of a product; both values if the runs differ.
function factOfBothRuns(product, key) {
  const [a, b] = sides.map((side) => product[side][key] ?? "–");
  return a === b ? a : `${a} → ${b}`;
}
const locationCell = (product) => breakable(factOfBothRuns(product, "where"));

// Returns sizes and, below them, transpositions and batch count.
function sizeCell({m, n, k, batch, trans_a, trans_b}) {
  const transposes = (trans_a ?? "") + (trans_b ?? "");
  const more = [transposes, batch !== 1 && `batch ${count(batch)}`].filter(Boolean);
  const lengths = [m, n, k].map((length) => length ?? "?").join("×");
  return [lengths, more.length > 0 && secondary(more.join(", "))];
}

function numberOf({a, thread}) {
  return count(a.number) + (data.threads > 1 ? ` of thread ${thread}` : "");
}

function showSides() {
  const fact = (title, key) => numberColumn(title, (side) => count(data[side][key]));
  fillTable(
    $("sides"),
    [
      textColumn("Run", (side) => side.toUpperCase()),
      fact("Fingerprints", "fingerprints"),
      fact("Lost", "lost"),
      fact("Not aligned", "unaligned"),
      fact("Calls without fingerprint", "without_fingerprint"),
      textColumn("Program", (side) => breakable(data[side].command ?? "–")),
    ],
    sides,
  );
  fillTable($("calls"), amountColumns, [data]);
  $("summary").textContent = [data.summary, ...data.remarks, ""].join(". ");
  $("outcome").textContent =
    `${counted(data.aligned, "product")} aligned: ` +
    `${count(data.same_bits)} with the same bits, ${count(data.other_bits)} with different bits, ` +
    `${count(data.beyond_bound)} beyond ${data.bound}.`;
}

// Returns a column with a fact of products. `productOf` returns the product of a row.
const factColumn = (title, key, productOf) =>
  textColumn(title, (row) => factOfBothRuns(productOf(row), key));
const sizeColumn = (productOf) =>
  textColumn("Size m×n×k", (row) => sizeCell(productOf(row)), {class: "size"});
const whereColumn = (productOf) => textColumn("Where", (row) => locationCell(productOf(row)));

// Returns a list with the column of scopes; an empty one if no product has a scope.
function scopeColumns(rows, productOf) {
  if (!rows.some((row) => productOf(row).scope)) return [];
  return [textColumn("Scope", (row) => breakable(productOf(row).scope ?? "–"))];
}

function showProducts() {
  const products = [
    {name: "first with different bits", product: data.first_other_bits},
    {name: `first beyond ${data.bound}`, product: data.first_beyond_bound},
    {name: "largest difference", product: data.largest},
  ].filter(({product}) => product !== null);
  const productOf = ({product}) => product;
  fillTable(
    $("products"),
    [
      textColumn("Product", ({name}) => name),
      numberColumn("Number", ({product}) => numberOf(product)),
      numberColumn("Difference", ({product}) => differenceText(product.difference)),
      factColumn("Function", "function", productOf),
      sizeColumn(productOf),
      whereColumn(productOf),
      ...scopeColumns(products, productOf),
      factColumn("Ran at", "ran_at", productOf),
      factColumn("Library", "provider", productOf),
    ],
    products,
  );
  $("products-section").hidden = products.length === 0;
}

function showSteps() {
  const unlessSame = ({largest}, cell) => (largest.same_bits ? "" : cell(largest));
  fillTable(
    $("steps"),
    [
      textColumn("Products", ({first, last}) => `${count(first)} – ${count(last)}`),
      numberColumn("Same bits", ({same_bits}) => count(same_bits)),
      numberColumn("Median difference", ({median}) => differenceText(median)),
      numberColumn("Largest", ({largest}) => differenceText(largest.difference)),
      numberColumn("At", (step) => unlessSame(step, numberOf)),
      textColumn("Where", (step) => unlessSame(step, locationCell)),
    ],
    data.growth,
  );
}

function showGroups() {
  $("groups-section").hidden = data.groups.length === 0;
  const firstOf = ({first}) => first;
  fillTable(
    $("groups"),
    [
      numberColumn("Largest difference", ({largest}) => differenceText(largest.difference)),
      numberColumn("Products", ({products}) => count(products)),
      numberColumn("With other bits", ({other_bits}) => count(other_bits)),
      numberColumn("First", ({first_other_bits: first}) => (first ? numberOf(first) : "–")),
      factColumn("Function", "function", firstOf),
      sizeColumn(firstOf),
      factColumn("Ran at", "ran_at", firstOf),
      whereColumn(firstOf),
      ...scopeColumns(data.groups, firstOf),
    ],
    data.groups,
  );
  const groups = counted(data.more_groups, "further group");
  showNote(
    "more",
    data.more_groups > 0 &&
      `${groups} differ less and are not on this page; fp32shim diff --format json has all.`,
  );
}

const commands = sides.map((side) => data[side].command ?? "unknown program");
setUpPage([...new Set(commands)].join(" → "));
showWarnings(data.warnings.map((text) => [text]));
showSides();
showProducts();
showSteps();
showGroups();
showChanges();
$("growth").hidden = data.aligned === 0;
if (data.aligned > 0) {
  drawGrowth();
  redrawOnChange(drawGrowth);
}
