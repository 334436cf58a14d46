// Draws the timeline: calls over time by applied precision, and changes of settings.

import {drawChart} from "../shared/charts.js";
import {$, colour} from "../shared/elements.js";
import {areaFill, formats} from "../shared/formats.js";
import {data} from "../shared/page.js";
import {durationText, nanosecondsSince1970, threeDigits, withSiPrefix} from "../shared/text.js";

const {timeline} = data;
const binCount = () => timeline.bins.at(-1).number + 1;
const timeText = (time_ns) => (time_ns === 0 ? "0" : durationText(time_ns));

// --- Lines at the times of changes, with text above the bars

function drawVerticalLine(context, x, top, bottom) {
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, bottom);
  context.stroke();
}

function drawSettingChanges({ctx: context, chartArea: {left, right, top, bottom}}) {
  let written = -Infinity; // right end of the previous text
  for (const {change, time, done} of data.changes.list) {
    const since_ns = nanosecondsSince1970(time) - nanosecondsSince1970(timeline.begin);
    const position = since_ns / timeline.bin_ns / binCount();
    if (position < 0 || position > 1 || !done) continue;
    const x = left + position * (right - left);
    drawVerticalLine(context, x, top - 14, bottom);
    const width = context.measureText(change).width;
    const begin = x + 4 + width > right ? x - 4 - width : x + 4;
    if (begin < written) continue;
    context.fillText(change, begin, top - 5);
    written = begin + width + 8;
  }
}

const changeLines = {
  id: "changes",
  afterDatasetsDraw(chart) {
    const context = chart.ctx;
    context.save();
    context.strokeStyle = context.fillStyle = colour("text");
    context.font = `11px ${Chart.defaults.font.family}`;
    context.setLineDash([4, 3]);
    drawSettingChanges(chart);
    context.restore();
  },
};

// --- The time axis

// Returns a round interval between two ticks, so that an axis of `total_ns` gets about `ticks`
// ticks. It is in whole minutes if durationText() shows no seconds for `total_ns`.
function tickInterval(total_ns, ticks) {
  const least = Math.max(total_ns / ticks, 1);
  const isShort = total_ns < 119.5e9;
  const unit = isShort ? 10 ** Math.floor(Math.log10(least)) : 60e9;
  // The intervals in minutes are up to an hour; 2, 6 and 24 hours; 2, 7, 28 and 364 days.
  const minutes = [1, 2, 5, 10, 30, 60, 120, 360, 1440, 2880, 10080, 40320, 524160];
  const steps = isShort ? [1, 2, 5, 10] : minutes;
  return unit * (steps.find((step) => unit * step >= least) ?? steps.at(-1));
}

function addRoundTicks(axis) {
  const step = tickInterval(axis.max, axis.chart.width / 80);
  const length = Math.floor(axis.max / step) + 1;
  axis.ticks = Array.from({length}, (_, i) => ({value: i * step}));
}

function chartScales(title) {
  return {
    x: {stacked: true, display: false},
    time: {
      axis: "x",
      type: "linear",
      position: "bottom",
      offset: false,
      min: 0,
      max: binCount() * timeline.bin_ns,
      grid: {display: false},
      title: {display: true, text: "since the first call"},
      ticks: {autoSkip: false, maxRotation: 0, callback: timeText},
      afterBuildTicks: addRoundTicks,
    },
    y: {
      stacked: true,
      beginAtZero: true,
      title: {display: true, text: title},
      grid: {color: colour("faint")},
      ticks: {callback: (value) => (value < 1 ? threeDigits(value) : withSiPrefix(value))},
    },
  };
}

// --- The bars

// Returns the heights of the bars of a format. `key` is the quantity, and `index` is the index of
// the format in the data.
function barHeights(key, index) {
  const width = key === "calls" ? timeline.bin_ns / 1e9 : timeline.bin_ns;
  const values = new Array(binCount()).fill(0);
  for (const bin of timeline.bins) values[bin.number] = (bin[key][index] ?? 0) / width;
  return values;
}

function barDatasets(key) {
  return formats
    .filter((format) => timeline.formats.includes(format))
    .map((format) => ({
      label: format,
      backgroundColor: areaFill(format),
      barPercentage: 1,
      categoryPercentage: 1,
      data: barHeights(key, timeline.formats.indexOf(format)),
    }));
}

function drawTimelineBars(key) {
  const title = key === "calls" ? "calls per second" : "threads in products";
  const beginOf = (bin) => timeText(bin * timeline.bin_ns);
  drawChart("timeline-chart", `Timeline: ${title}, by applied precision.`, {
    type: "bar",
    data: {
      labels: Array.from({length: binCount()}, (_, i) => beginOf(i)),
      datasets: barDatasets(key),
    },
    plugins: [changeLines],
    options: {
      interaction: {mode: "index", intersect: false},
      layout: {padding: {top: data.changes.list.length ? 18 : 4}},
      scales: chartScales(title),
      plugins: {
        tooltip: {
          filter: (item) => item.parsed.y > 0,
          callbacks: {
            title: ([bar]) =>
              bar ? `${beginOf(bar.dataIndex)} to ${beginOf(bar.dataIndex + 1)}` : "",
            label: ({dataset, parsed}) => `${dataset.label}: ${withSiPrefix(parsed.y)}`,
          },
        },
      },
    },
  });
}

export function drawTimeline() {
  if (!timeline) {
    document.querySelector("#timeline .chart").hidden = true;
    document.querySelector("#timeline label").hidden = true;
    $("timeline-note").textContent =
      "There is no timeline: it needs recordings of the level calls (fp32shim run --level calls).";
    return;
  }
  const begin = timeline.begin.slice(0, 23).replace("T", " ");
  $("timeline-note").textContent =
    `Each bar is ${durationText(timeline.bin_ns)}; the first begins at ${begin} UTC.`;
  drawTimelineBars($("timeline-height").value);
}
