// Draws the size map, which is a chart of decisions as points, by size and by a chosen quantity.

import {drawChart} from "../shared/charts.js";
import {$, colour} from "../shared/elements.js";
import {formats, shapeOf} from "../shared/formats.js";
import {
  count,
  counted,
  durationText,
  flopText,
  isOrAre,
  sum,
  withSiPrefix,
} from "../shared/text.js";
import {clusterPoints, roundRangeAround} from "./clusters.js";
import {
  functionText,
  meanSize,
  meanTime,
  rest,
  routeText,
  sizeClassText,
  sizes,
  sizeText,
  sourceText,
  sumOf,
  work,
} from "./decisions.js";
import {view} from "./view.js";

const heightChoices = {
  work: {title: "work of all calls", value: work, text: flopText},
  host_ns: {title: "host time of all calls", value: (row) => row.host_ns, text: durationText},
  calls: {title: "number of calls", value: (row) => row.calls, text: withSiPrefix},
  mean_ns: {title: "host time of one call", value: meanTime, text: durationText, isMean: true},
};

// Returns a point for each row with a known size and a value above 0. A row that sums up several
// decisions has one point at their mean, so its value is divided by their number, unless it already
// is a mean (`isMean`).
function mapPoints({value, isMean}) {
  return view.entries
    .map(({row}) => row)
    .filter((row) => (row.size ?? sizes(row).length) && row.calls > 0 && value(row) > 0)
    .map((row) => ({
      x: row.size ?? meanSize(row),
      y: value(row) / (row.isGroup && !isMean ? row.decisions : 1),
      decisions: row.sized ?? row.decisions,
      row,
    }));
}

function pointsNote(points) {
  const drawn = sum(points, ({decisions}) => decisions);
  const averaged = sum(points, ({row, decisions}) => (row.isGroup ? decisions : 0));
  const missing = view.totals.decisions - drawn;
  const notes = [
    "A point is one decision; a point with a number stands for that many, which would hide " +
      "each other, at their mean. Size is the geometric mean of m, n and k.",
  ];
  if (averaged) {
    notes.push(
      `${counted(averaged, "decision")} that the table sums up ${isOrAre(averaged)} ` +
        "drawn at the mean of function and size.",
    );
  }
  if (missing) {
    notes.push(
      `${counted(missing, "decision")} ${isOrAre(missing)} not drawn: without a known ` +
        `size or height${rest.decisions ? ", or not on this page" : ""}.`,
    );
  }
  return notes.join(" ");
}

// --- Points

// The shapes that have room for a number. A point that stands for several decisions shows their
// number, so it becomes a circle if its format has another shape.
const shapesForNumbers = ["circle", "rect", "rectRounded", "rectRot", "triangle"];
const pointShape = ({decisions, format}) =>
  decisions === 1 || shapesForNumbers.includes(shapeOf(format)) ? shapeOf(format) : "circle";

function pointDataset(format, clusters) {
  const own = clusters.filter((cluster) => cluster.format === format);
  const radius = own.map(({decisions}) => (decisions === 1 ? 5.5 : 9));
  return {
    label: format,
    data: own,
    pointStyle: own.map(pointShape),
    backgroundColor: colour(format) + "c0",
    borderColor: colour(format),
    borderWidth: 1.2,
    radius,
    hoverRadius: radius.map((one) => one + 2),
    clip: 10,
  };
}

function drawCount(context, point, decisions) {
  const words = withSiPrefix(decisions).replace(" ", "");
  context.strokeStyle = colour("page");
  context.fillStyle = colour("text");
  context.strokeText(words, point.x, point.y + 0.5);
  context.fillText(words, point.x, point.y + 0.5);
}

// Draws on each point that stands for several decisions the number of these decisions.
const clusterCounts = {
  id: "counts",
  afterDatasetsDraw(chart) {
    const context = chart.ctx;
    context.save();
    context.font = `600 9.5px ${Chart.defaults.font.family}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 2.5;
    context.lineJoin = "round";
    for (const [i, dataset] of chart.data.datasets.entries()) {
      if (!chart.isDatasetVisible(i)) continue;
      const points = chart.getDatasetMeta(i).data;
      for (const [k, {decisions}] of dataset.data.entries()) {
        if (decisions > 1) drawCount(context, points[k], decisions);
      }
    }
    context.restore();
  },
};

// --- Tooltips of points

function pointLabel({row}) {
  const size = row.isGroup ? sizeClassText(row) : sizeText(row);
  return `${functionText(row)} ${size}${row.batch > 1 ? ` batch ${row.batch}` : ""}`;
}

function tooltipTitle({raw: {decisions, format, points}}) {
  return decisions === 1 ? pointLabel(points[0]) : `${counted(decisions, "decision")}, ${format}`;
}

function decisionTooltipLines({row}) {
  const lines = row.scope ? [routeText(row), `in ${row.scope}`] : [routeText(row)];
  const by = sourceText(row);
  return [...lines, `${row.requested} by ${by}, ran at ${row.format} (${row.reason})`];
}

function tooltipLines({raw: {decisions, points}}) {
  const lines =
    decisions > 1 ? points.slice(0, 6).map(pointLabel) : decisionTooltipLines(points[0]);
  if (points.length > 6) lines.push(`and ${count(points.length - 6)} more`);
  const calls = counted(
    sumOf(points, (row) => row.calls),
    "call",
  );
  const time = durationText(sumOf(points, (row) => row.host_ns));
  return [...lines, `${calls}, ${time}, ${flopText(sumOf(points, work))}`];
}

// Returns the labels of the legend, with the shapes that single decisions have.
function legendLabels(chart) {
  const labels = Chart.defaults.plugins.legend.labels.generateLabels(chart);
  return labels.map((label) => ({...label, pointStyle: shapeOf(label.text)}));
}

// --- The map

// Returns an axis with ticks at powers of ten and, where there is room, at 2 and 5 times the powers
// of ten.
function logarithmicAxis(title, text, [min, max]) {
  const callback = (value) => (/^[125]/.test(value.toExponential()) ? text(value) : "");
  return {
    type: "logarithmic",
    title: {display: true, text: title},
    grid: {color: colour("faint")},
    ticks: {callback, autoSkip: true, maxRotation: 0},
    min,
    max,
  };
}

export function drawSizeMap() {
  const height = heightChoices[$("map-height").value];
  const points = mapPoints(height);
  $("map-note").textContent = pointsNote(points);
  const ranges = {
    x: roundRangeAround(points.map(({x}) => x)),
    y: roundRangeAround(points.map(({y}) => y)),
  };
  const width = $("map-chart").parentElement.clientWidth - 90;
  const clusters = clusterPoints(points, ranges, width, 250);
  const drawn = formats.filter((format) => clusters.some((cluster) => cluster.format === format));
  const label =
    `Size map: ${height.title} against size, by applied precision; ` +
    "the table of decisions has the numbers.";
  drawChart("map-chart", label, {
    type: "scatter",
    data: {datasets: drawn.map((format) => pointDataset(format, clusters))},
    plugins: [clusterCounts],
    options: {
      scales: {
        x: logarithmicAxis("size", withSiPrefix, ranges.x),
        y: logarithmicAxis(height.title, height.text, ranges.y),
      },
      layout: {padding: {right: 12, top: 10}},
      plugins: {
        legend: {labels: {generateLabels: legendLabels}},
        tooltip: {callbacks: {title: (items) => items.map(tooltipTitle), label: tooltipLines}},
      },
    },
  });
}
