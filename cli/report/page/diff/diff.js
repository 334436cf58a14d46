// Draws the page of `fp32shim diff`: the tables that its text output also has, and a chart.
import {$, breakableName, element} from "../shared/elements.js";
import {data, redrawOnChange, setUpPage, showWarnings} from "../shared/page.js";
import {fillTable, numberColumn, showTextTable, textColumn} from "../shared/tables.js";
import {count, counted} from "../shared/text.js";
import {drawDifferenceGrowth} from "./growth.js";

const sides = ["a", "b"];

function showBothRuns() {
  const fact = (title, key) => numberColumn(title, (side) => count(data[side][key]));
  const columns = [
    textColumn("Run", (side) => side.toUpperCase()),
    fact("Fingerprints", "fingerprints"),
    fact("Lost", "lost"),
    fact("Not aligned", "unaligned"),
    fact("Calls without fingerprint", "without_fingerprint"),
    textColumn("Program", (side) => breakableName(data[side].command ?? "–")),
  ];
  fillTable($("sides"), columns, sides);
  $("summary").textContent = [data.summary, ...data.remarks, ""].join(". ");
  $("outcome").textContent =
    `${counted(data.aligned, "product")} aligned: ` +
    `${count(data.same_bits)} with the same bits, ${count(data.other_bits)} with different bits, ` +
    `${count(data.beyond_bound)} beyond ${data.bound}.`;
  $("changes-answer").textContent =
    `${count(data.groups_at_other_precision)} of ${counted(data.groups_of_calls, "group")} ` +
    "ran at another precision.";
}

function showProducts() {
  const {products} = data.tables;
  const shown = products.map(({title, lines}) => [
    element("h3", {}, title),
    element("pre", {}, lines.join("\n")),
  ]);
  $("products").append(...shown.flat());
  $("products").hidden = products.length === 0;
}

const commands = sides.map((side) => data[side].command ?? "unknown program");
setUpPage([...new Set(commands)].join(" → "));
showWarnings(data.warnings.map((text) => [text]));
showBothRuns();
showProducts();
for (const id of ["calls", "steps", "groups", "changes"]) showTextTable(id, data.tables[id]);
$("growth").hidden = data.aligned === 0;
if (data.aligned > 0) {
  drawDifferenceGrowth();
  redrawOnChange(drawDifferenceGrowth);
}
