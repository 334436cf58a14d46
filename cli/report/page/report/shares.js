// Shows the shares of the formats: the table by applied precision, and its chart.

import {drawChart} from "../shared/charts.js";
import {$, colour, element} from "../shared/elements.js";
import {areaFill, swatch} from "../shared/formats.js";
import {fillTable, numberColumn, textColumn} from "../shared/tables.js";
import {count, flopText, hostTime, percentText} from "../shared/text.js";
import {view} from "./view.js";

// Returns two columns of the table: one for an amount, and one for its share of all calls.
function amountColumns(title, key, text) {
  const unseen = element("span", {class: "unseen"}, "share");
  return [
    numberColumn(title, text),
    numberColumn(unseen, (row) => percentText(row[key], view.totals[key])),
  ];
}

export function showFormatTable() {
  const columns = [
    textColumn("Applied", ({format}) => [swatch(format), format], {
      isRowHead: true,
      class: "format",
    }),
    ...amountColumns("Calls", "calls", ({calls}) => count(calls)),
    ...amountColumns("Host time", "host_ns", ({host_ns, estimated}) =>
      hostTime(host_ns, estimated),
    ),
    ...amountColumns("Work", "work", (row) => flopText(row.work)),
  ];
  fillTable($("formats"), columns, view.formats);
  $("formats-note").hidden = !view.formats.some(({format}) => format === "unchanged");
}

export function drawFormatShares() {
  const {formats, totals} = view;
  const sums = [
    ["calls", "calls"],
    ["host time", "host_ns"],
    ["work", "work"],
  ].filter(([, key]) => totals[key] > 0);
  const label =
    "Shares of calls, host time and work by applied precision; " +
    "the table beside it has the numbers.";
  drawChart("formats-chart", label, {
    type: "bar",
    data: {
      labels: sums.map(([name]) => name),
      datasets: formats.map((row) => ({
        label: row.format,
        backgroundColor: areaFill(row.format),
        borderColor: colour("page"),
        borderWidth: {right: 1.5},
        barPercentage: 0.75,
        data: sums.map(([, key]) => (100 * row[key]) / totals[key]),
      })),
    },
    options: {
      indexAxis: "y",
      scales: {
        x: {
          stacked: true,
          min: 0,
          max: 100,
          grid: {color: colour("faint")},
          ticks: {callback: (value) => `${value} %`},
        },
        y: {stacked: true, grid: {display: false}},
      },
      plugins: {
        tooltip: {
          callbacks: {
            label: ({dataset, parsed}) => `${dataset.label}: ${percentText(parsed.x, 100)}`,
          },
        },
      },
    },
  });
}
