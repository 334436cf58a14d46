// Draws the page of `fp32shim report`.

import {setChartDefaults} from "../shared/charts.js";
import {$, colour} from "../shared/elements.js";
import {data, redrawOnChange} from "../shared/page.js";
import {showTextTable} from "../shared/tables.js";
import {redrawFlameGraph, setUpFlameGraph} from "./call_paths.js";
import {filterRows, setUpFilters} from "./filters.js";
import {showAllWarnings, showPageHead, showTotals} from "./head.js";
import {showRunFacts, showSettingChanges} from "./run.js";
import {drawFormatShares, showFormatTable} from "./shares.js";
import {drawSizeMap} from "./size_map.js";
import {drawTimeline} from "./timeline.js";
import {showVerdict} from "./verdict.js";
import {setView, view} from "./view.js";

function drawCharts() {
  for (const section of document.querySelectorAll(".drawn")) {
    section.hidden = data.totals.calls === 0;
  }
  if (data.totals.calls === 0) return;
  setChartDefaults();
  const {legend, tooltip} = Chart.defaults.plugins;
  legend.position = "bottom";
  Object.assign(legend.labels, {usePointStyle: true, boxHeight: 7});
  Object.assign(tooltip, {
    backgroundColor: colour("panel"),
    titleColor: colour("text"),
    bodyColor: colour("text"),
    borderColor: colour("line"),
    borderWidth: 1,
    padding: 9,
    usePointStyle: true,
    boxPadding: 4,
  });
  drawFormatShares();
  drawTimeline();
  $("timeline-all").hidden = !view.name;
  drawSizeMap();
}

// Shows only the calls in `selection`, which are the calls below a box of the flame graph. If it is
// null, shows all calls.
function showSelection(selection) {
  setView(selection);
  $("selected").hidden = selection === null;
  if (selection) $("selected").querySelector("span").textContent = `Only calls below ${view.name}`;
  showFormatTable();
  filterRows();
  drawCharts();
}

showPageHead();
showVerdict();
showAllWarnings();
showTotals();
showFormatTable();
showSettingChanges();
showTextTable("nonfinite", data.nonfinite);
showTextTable("received", data.received);
showTextTable("audits", data.audits);
showRunFacts();
setUpFilters();
drawCharts();
setUpFlameGraph(showSelection);
for (const id of ["timeline-height", "map-height"]) $(id).addEventListener("change", drawCharts);
redrawOnChange(() => {
  drawCharts();
  redrawFlameGraph();
});
