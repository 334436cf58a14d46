// Draws a chart of the differences between the products of two runs, by the position of a product
// in the runs. The scale of differences is logarithmic, so products without a difference have no
// point.

import {drawChart, setChartDefaults} from "../shared/charts.js";
import {$, colour} from "../shared/elements.js";
import {data} from "../shared/page.js";
import {count, counted} from "../shared/text.js";

function differenceDataset(key, colourName, more = {}) {
  return {
    label: key,
    data: data.plot.map((step) => ({x: step.at, y: step[key] > 0 ? step[key] : null})),
    borderColor: colour(colourName),
    backgroundColor: colour(colourName),
    borderWidth: 1.5,
    pointRadius: data.plot.length > 200 ? 0 : 2,
    spanGaps: false,
    ...more,
  };
}

function boundDataset() {
  const y = data.bound > 0 ? data.bound : null;
  return {
    label: `bound ${data.bound}`,
    data: [data.plot[0], data.plot.at(-1)].map((step) => ({x: step.at, y})),
    borderColor: colour("muted"),
    borderWidth: 1,
    borderDash: [5, 4],
    pointRadius: 0,
  };
}

function chartScales() {
  const isPowerOfTen = (value) => /^1e/.test(value.toExponential());
  return {
    x: {
      type: "linear",
      title: {display: true, text: "aligned product"},
      min: 1,
      max: Math.max(2, data.aligned),
    },
    y: {
      type: "logarithmic",
      title: {display: true, text: "estimated relative difference"},
      ticks: {callback: (value) => (isPowerOfTen(value) ? value.toExponential(0) : "")},
    },
  };
}

export function drawDifferenceGrowth() {
  setChartDefaults();
  const label =
    "Estimated relative difference by position: median and largest; " +
    "the table below shows it too.";
  drawChart("growth-chart", label, {
    type: "line",
    data: {
      datasets: [
        differenceDataset("largest", "more", {pointStyle: "triangle"}),
        differenceDataset("median", "less"),
        boundDataset(),
      ],
    },
    options: {
      parsing: false,
      interaction: {mode: "index", intersect: false},
      scales: chartScales(),
      plugins: {
        tooltip: {
          callbacks: {
            title: ([item]) => `product ${count(item.parsed.x)}`,
            label: (item) => `${item.dataset.label}: ${item.parsed.y.toExponential(1)}`,
          },
        },
      },
    },
  });
  const each = data.plot.length > 1 ? data.plot[1].at - data.plot[0].at : 1;
  const infinite = counted(data.infinite, "infinite difference");
  $("growth-note").textContent =
    (each > 1 ? `Each point stands for ${count(each)} products. ` : "") +
    `Products with the same bits have no point${data.infinite ? `; not shown: ${infinite}` : ""}.`;
}
