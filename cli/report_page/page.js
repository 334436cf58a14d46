// Draws the page from the JSON in it. Names in that JSON are anybody's: they become text, never markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);

  // --- Words and numbers

  const number = new Intl.NumberFormat("en-US");
  const three = (value) => String(Number(value.toPrecision(3)));
  const count = (value) => number.format(value);
  const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

  function duration(ns) {
    if (ns < 999.5) return `${Math.round(ns)} ns`;
    if (ns < 999.5e3) return `${three(ns / 1e3)} µs`;
    if (ns < 999.5e6) return `${three(ns / 1e6)} ms`;
    if (ns < 119.5e9) return `${three(ns / 1e9)} s`;
    const minutes = Math.round(ns / 60e9);
    return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  }

  // 1.5e9 as 1.5 G
  function prefixed(value) {
    const prefixes = ["", "k", "M", "G", "T", "P", "E"];
    const power = value < 1 ? 0 : Math.min(Math.floor(Math.log10(value) / 3 + 1e-9), prefixes.length - 1);
    return `${three(value / 1000 ** power)} ${prefixes[power]}`.trimEnd();
  }
  const flops = (value) => value > 0 ? `${prefixed(value)}${/[A-Z]$/i.test(prefixed(value)) ? "" : " "}flop` : "–";
  const percent = (part, whole) => whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "";

  function element(tag, properties = {}, ...children) {
    const result = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "class") result.className = value;
      else if (name in result) result[name] = value;
      else result.setAttribute(name, value);
    }
    result.append(...children);
    return result;
  }
  const second = (text) => element("span", {class: "second"}, text);
  const swatch = (format) => element("span", {class: `swatch ${format}`, "aria-hidden": "true"});

  // A long name, with places where a line may end.
  function breakable(name) {
    const parts = name.split(/(?<=[_./-])/);
    return element("span", {}, ...parts.flatMap((part) => [part, element("wbr")]).slice(0, -1));
  }

  // --- A row's columns: `value` sorts, `cell` is shown

  const sizes = (row) => [row.m, row.n, row.k].filter((size) => size > 0);
  const elements = (row) => sizes(row).reduce((product, size) => product * size, sizes(row).length ? row.batch ?? 1 : 0);
  const work = (row) => (row.flops ?? 0) * row.calls;

  function size(row) {
    if (!row.function) return "?";
    const text = [row.m, row.n, row.k].map((length) => length ?? "?").join("×");
    return (row.sizes_folded ? "≤ " : "") + text;
  }
  function route(row) {
    return `${row.caller ?? "?"} → ${row.provider ?? "?"}`;
  }
  // Of short calls, only some are timed.
  const isEstimated = (row) => row.timed_calls < row.calls;
  function source(row) {
    return row.rule ? `rule “${row.rule}”` : row.source ?? "";
  }

  const columns = [
    {title: "Call site", value: route, cell: (row) =>
      [breakable(row.caller ?? "?"), element("span", {class: "to"}, "→ ", breakable(row.provider ?? "?")), row.scope && second(`in ${row.scope}`)]},
    {title: "Function", value: (row) => row.function ?? "", cell: (row) =>
      row.function ? [row.function, second(`${row.dtype}, ${row.device}${row.device_index === undefined ? "" : " " + row.device_index}`)]
                   : ["found no room"]},
    {title: "Size m×n×k", value: elements, class: "size", cell: (row) => [size(row), row.batch > 1 && second(`batch ${row.batch}`)]},
    {title: "Trans", value: (row) => (row.trans_a ?? "") + (row.trans_b ?? ""), cell: (row) => [(row.trans_a ?? "") + (row.trans_b ?? "") || "–"]},
    {title: "Requested", value: (row) => row.requested ?? "", cell: (row) => [row.requested ?? "?", second(source(row))]},
    {title: "Applied", value: (row) => row.format, class: "format", cell: (row) =>
      [swatch(row.format), row.format, row.actual && second("as the library says")]},
    {title: "How", value: (row) => row.how ?? "", cell: (row) => [row.how ?? "?"]},
    {title: "Reason", value: (row) => row.reason ?? "", cell: (row) =>
      [row.reason ?? "?", row.detail && second(row.detail), row.status > 0 && second(`status ${row.status}`)]},
    {id: "calls", title: "Calls", value: (row) => row.calls, number: true, cell: (row) => [count(row.calls)]},
    {id: "host_ns", title: "Host time", value: (row) => row.host_ns, number: true, cell: (row) =>
      [(isEstimated(row) ? "≈ " : "") + duration(row.host_ns), second(`${duration(row.host_ns / Math.max(row.calls, 1))} each`)]},
    {id: "work", title: "Work", value: work, number: true, cell: (row) => [flops(work(row))]},
    {title: "Share", value: (row) => row.host_ns, number: true, cell: (row) =>
      [percent(row.host_ns, data.totals.host_ns), element("progress", {max: Math.max(data.totals.host_ns, 1), value: row.host_ns, "aria-hidden": "true"})]},
  ];

  // --- Head, warnings, totals

  function showHead() {
    const names = data.programs.values.map((value) => value.text);
    const more = data.programs.more ? ` and ${data.programs.more} more` : "";
    const title = names.join(", ") + more;
    $("programs").textContent = title || "Unknown program";
    document.title = `${title || "unknown program"} – fp32shim report`;
    const facts = Object.fromEntries(data.facts.map((fact) => [fact.name, fact]));
    const list = (fact, separator = ", ") => fact.values.map((value) => value.text).join(separator) + (fact.more ? ` and ${fact.more} more` : "");
    $("command").hidden = facts.Command?.values.length !== 1;
    $("command").textContent = facts.Command?.values[0].text;
    const parts = [];
    if (facts.Host) parts.push(`on ${list(facts.Host)}`);
    if (facts.Process) parts.push(`${data.totals.recordings === 1 ? "process" : "processes"} ${list(facts.Process)}`);
    parts.push(`from ${data.period.opened}`);
    if (data.period.duration_ns !== null) parts.push(`last call after ${duration(data.period.duration_ns)}`);
    $("when").textContent = parts.join(" · ");
    const settings = [];
    if (facts["Settings at its start"]) settings.push(list(facts["Settings at its start"], "; "));
    if (facts.Policy) settings.push(`policy ${list(facts.Policy, "; ").replace(/(sha256 [0-9a-f]{12})[0-9a-f]+/g, "$1…")}`);
    if (facts.fp32shim) settings.push(`fp32shim ${list(facts.fp32shim)}`);
    $("settings").textContent = settings.join(" · ");
    if (data.filtered) {
      $("filtered").hidden = false;
      $("filtered").textContent = "Filters of the command line are in force: calls that they leave out are not on this page.";
    }
    $("version").textContent = data.version;
  }

  function showWarnings() {
    for (const warning of data.warnings) {
      const item = element("li", {}, element("strong", {}, warning.title));
      if (warning.refused) {
        const button = element("button", {type: "button"}, "Show them");
        button.addEventListener("click", () => {
          $("filters").reset();
          $("filter-refused").checked = true;
          filterRows();
          $("decisions-title").scrollIntoView();
        });
        item.append(button);
      }
      item.append(element("ul", {}, ...warning.lines.map((line) => element("li", {}, line))));
      document.querySelector("#warnings > ul").append(item);
    }
    $("warnings").hidden = data.warnings.length === 0;
    if (data.warnings.length === 0 && data.totals.calls > 0) {
      $("complete").hidden = false;
      $("complete").textContent = "Every call that the shim saw is counted here, and each ran as it was requested.";
    }
  }

  function showTotals() {
    const totals = [
      [data.totals.calls === 1 ? "call" : "calls", count(data.totals.calls)],
      ["host time", (data.totals.estimated ? "≈ " : "") + duration(data.totals.host_ns)],
      [data.totals.calls_without_work ? `work, without ${counted(data.totals.calls_without_work, "call")} of unknown work` : "work",
       flops(data.totals.work)],
      [data.totals.decisions === 1 ? "distinct decision" : "distinct decisions", count(data.totals.decisions)],
      [data.totals.recordings === 1 ? "recording" : "recordings", count(data.totals.recordings)],
    ];
    for (const [name, value] of totals) $("totals").append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  }

  function showFormats() {
    const head = ["Applied", "Calls", "", "Host time", "", "Work", ""];
    $("formats").tHead.append(element("tr", {}, ...head.map((text, i) => text || i === 0
      ? element("th", {scope: "col", class: i ? "number" : ""}, text) : element("th", {class: "number"}, element("span", {class: "unseen"}, "share")))));
    for (const row of data.formats) {
      const cells = [count(row.calls), percent(row.calls, data.totals.calls), (row.estimated ? "≈ " : "") + duration(row.host_ns),
                     percent(row.host_ns, data.totals.host_ns), flops(row.work), percent(row.work, data.totals.work)];
      $("formats").tBodies[0].append(element("tr", {},
        element("th", {scope: "row", class: "format"}, swatch(row.format), row.format),
        ...cells.map((text) => element("td", {class: "number"}, text))));
    }
    const isUnchanged = data.formats.some((row) => row.format === "unchanged");
    $("formats-note").hidden = !isUnchanged;
    $("formats-note").textContent = "unchanged: only forwarded, so the format is not known.";
  }

  function showChanges() {
    $("changes").hidden = data.changes.list.length === 0;
    const body = document.querySelector("#changes tbody");
    for (const change of data.changes.list) {
      const cells = [change.time.replace("T", " ").replace("Z", ""), change.process, change.change, change.by,
                     (change.done ? "done" : "refused") + (change.message ? `: ${change.message}` : "")];
      body.append(element("tr", {}, ...cells.map((text) => element("td", {}, text))));
    }
    if (data.changes.more) body.append(element("tr", {}, element("td", {colSpan: 5}, `and ${count(data.changes.more)} more`)));
  }

  function showRun() {
    for (const fact of data.facts) {
      $("facts").append(element("dt", {}, fact.name));
      for (const value of fact.values) {
        const isOnly = fact.values.length === 1 && !fact.more && value.recordings === data.totals.recordings;
        const isEach = fact.values.every((other) => other.recordings === 1);
        $("facts").append(element("dd", {}, value.text,
          isOnly || isEach ? "" : element("span", {class: "second"}, counted(value.recordings, "recording"))));
      }
      if (fact.more) $("facts").append(element("dd", {}, `and ${count(fact.more)} more`));
    }
    $("processes").hidden = data.totals.recordings < 2;
    $("processes").querySelector("summary").textContent = counted(data.totals.recordings, "recording");
    const shown = [["Host", "host"], ["Process", "pid"], ["Rank", "rank"], ["Program", "program"], ["Began", "opened"],
                   ["State", "state"], ["Calls", "calls"], ["Recording", "recording"]];
    const table = $("processes").querySelector("table");
    table.tHead.rows[0].append(...shown.map(([title, key]) =>
      element("th", {scope: "col", class: key === "calls" ? "number" : ""}, title)));
    for (const process of data.processes) {
      table.tBodies[0].append(element("tr", {}, ...shown.map(([, key]) => key === "calls"
        ? element("td", {class: "number"}, count(process.calls)) : element("td", {}, String(process[key] ?? "–")))));
    }
    const more = data.totals.recordings - data.processes.length;
    if (more > 0) table.tBodies[0].append(element("tr", {}, element("td", {colSpan: shown.length}, `and ${count(more)} more`)));
  }

  // --- The table of decisions

  const rows = data.rows.map((row) => ({row, element: null,
    text: Object.entries(row).map(([key, value]) => typeof value === "string" && key !== "first" && key !== "last" ? value : "")
      .concat(size(row), route(row)).join("\n").toLowerCase()}));
  let shown = rows;
  let order = {column: columns.find((column) => column.id === data.sort), descending: true};

  function elementOf(entry) {
    entry.element ??= element("tr", {}, ...columns.map((column) =>
      element("td", {class: column.number ? "number" : column.class ?? ""}, ...column.cell(entry.row).filter(Boolean))));
    return entry.element;
  }

  function showRows() {
    const {column, descending} = order;
    const compare = column.number || typeof column.value(shown[0]?.row ?? {}) === "number"
      ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", {numeric: true});
    const keyed = shown.map((entry) => [column.value(entry.row), entry]);
    keyed.sort((a, b) => descending ? compare(b[0], a[0]) : compare(a[0], b[0]));
    const body = $("decisions").tBodies[0];
    body.replaceChildren(...keyed.map(([, entry]) => elementOf(entry)));
    if (keyed.length === 0) {
      const text = rows.length ? "No decision matches the filter." : "No calls were recorded.";
      body.append(element("tr", {class: "none"}, element("td", {colSpan: columns.length}, text)));
    }
    for (const [i, cell] of [...$("decisions").tHead.rows[0].cells].entries()) {
      cell.setAttribute("aria-sort", columns[i] !== column ? "none" : descending ? "descending" : "ascending");
    }
    const sum = (value) => shown.reduce((total, {row}) => total + value(row), 0);
    $("shown").textContent = `Showing ${count(shown.length)} of ${counted(data.totals.decisions, "decision")}: ` +
      `${counted(sum((row) => row.calls), "call")}, ${duration(sum((row) => row.host_ns))} host time.`;
  }

  function filterRows() {
    const words = $("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const applied = $("filter-applied").value, name = $("filter-function").value, refused = $("filter-refused").checked;
    shown = rows.filter(({row, text}) => (!applied || row.format === applied) && (!name || row.function === name) &&
      (!refused || row.refused) && words.every((word) => text.includes(word)));
    showRows();
  }

  function setUpTable() {
    for (const column of columns) {
      const button = element("button", {type: "button"}, column.title);
      button.addEventListener("click", () => {
        const isNumber = column.number || column.class === "size";
        order = {column, descending: order.column === column ? !order.descending : isNumber};
        showRows();
      });
      $("decisions").tHead.rows[0].append(element("th", {scope: "col", class: column.number ? "number" : ""}, button));
    }
    const options = (id, values) => $(id).append(...values.map((value) => element("option", {value}, value)));
    options("filter-applied", data.formats.map((row) => row.format));
    options("filter-function", [...new Set(data.rows.map((row) => row.function).filter(Boolean))].sort());
    for (const event of ["input", "change"]) $("filters").addEventListener(event, filterRows);
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("filters").addEventListener("reset", () => setTimeout(filterRows));
    if (data.rest.decisions) {
      const foot = $("decisions").tFoot;
      foot.hidden = false;
      foot.append(element("tr", {}, element("td", {colSpan: columns.length},
        `Not listed: ${counted(data.rest.decisions, "further decision")} with less host time than any of these, ` +
        `${counted(data.rest.calls, "call")} and ${duration(data.rest.host_ns)} together. ` +
        "fp32shim report --format csv lists all.")));
    }
    $("estimated").hidden = !data.rows.some(isEstimated);
    filterRows();
  }

  // --- Charts

  const formats = ["fp32", "bf16x9", "tf32", "bf16", "fp16", "unchanged", "unknown"];
  const shapes = {fp32: "circle", bf16x9: "rectRounded", tf32: "triangle", bf16: "rect", fp16: "rectRot", unchanged: "crossRot", unknown: "star"};
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  let charts = [];

  function draw(id, label, configuration) {
    $(id).setAttribute("aria-label", label);
    charts.push(new Chart($(id), configuration));
  }

  // Ticks of a logarithmic axis: powers of ten, and 2 and 5 where there is room.
  function logarithmic(title, text) {
    return {type: "logarithmic", title: {display: true, text: title}, grid: {color: colour("faint")},
            ticks: {callback: (value) => /^[125]/.test(value.toExponential()) ? text(value) : "", autoSkip: true, maxRotation: 0}};
  }

  function drawShares() {
    const sums = [["calls", "calls"], ["host time", "host_ns"], ["work", "work"]].filter(([, key]) => data.totals[key] > 0);
    draw("formats-chart", "Shares of calls, host time and work by applied precision; the table beside it has the numbers.", {
      type: "bar",
      data: {
        labels: sums.map(([name]) => name),
        datasets: data.formats.map((row) => ({
          label: row.format, backgroundColor: colour(row.format), borderColor: colour("page"), borderWidth: {right: 1.5},
          barPercentage: 0.75, data: sums.map(([, key]) => 100 * row[key] / data.totals[key])})),
      },
      options: {
        indexAxis: "y",
        scales: {
          x: {stacked: true, min: 0, max: 100, grid: {color: colour("faint")}, ticks: {callback: (value) => `${value} %`}},
          y: {stacked: true, grid: {display: false}},
        },
        plugins: {tooltip: {callbacks: {label: (item) => `${item.dataset.label}: ${item.parsed.x.toFixed(1)} %`}}},
      },
    });
  }

  // Lines at the times of changes, each with its words above the bars.
  const changeLines = {
    id: "changes",
    afterDatasetsDraw(chart) {
      const {left, right, top, bottom} = chart.chartArea;
      const end = data.timeline.bins.at(-1).number + 1;
      const context = chart.ctx;
      context.save();
      context.strokeStyle = context.fillStyle = colour("text");
      context.font = `11px ${Chart.defaults.font.family}`;
      context.setLineDash([4, 3]);
      let written = -Infinity;  // where the last words end
      for (const change of data.changes.list) {
        const place = (change.time_ns - data.timeline.begin_ns) / data.timeline.bin_ns / end;
        if (place < 0 || place > 1 || !change.done) continue;
        const x = left + place * (right - left);
        context.beginPath();
        context.moveTo(x, top - 14);
        context.lineTo(x, bottom);
        context.stroke();
        const width = context.measureText(change.change).width;
        const begin = x + 4 + width > right ? x - 4 - width : x + 4;
        if (begin < written) continue;
        context.fillText(change.change, begin, top - 5);
        written = begin + width + 8;
      }
      context.restore();
    },
  };

  // What a round step between so many ticks of a time is: whole minutes where duration() has no seconds any more.
  function timeStep(total_ns, ticks) {
    const least = Math.max(total_ns / ticks, 1);
    const day = 24 * 60;
    const isShort = total_ns < 119.5e9;
    const unit = isShort ? 10 ** Math.floor(Math.log10(least)) : 60e9;
    const steps = isShort ? [1, 2, 5, 10] : [1, 2, 5, 10, 30, 60, 120, 360, 720, day, 2 * day, 7 * day, 28 * day, 364 * day];
    return unit * (steps.find((step) => unit * step >= least) ?? steps.at(-1));
  }

  function drawTimeline() {
    const timeline = data.timeline;
    if (!timeline) {
      document.querySelector("#timeline .chart").hidden = document.querySelector("#timeline label").hidden = true;
      $("timeline-note").textContent = "There is none: it needs recordings of the level calls (fp32shim run --level calls).";
      return;
    }
    const key = $("timeline-height").value;
    const length = timeline.bins.at(-1).number + 1;
    const seconds = timeline.bin_ns / 1e9;
    const heights = (place) => {
      const values = new Array(length).fill(0);
      for (const bin of timeline.bins) {
        values[bin.number] = (bin[key][place] ?? 0) / (key === "calls" ? seconds : timeline.bin_ns);
      }
      return values;
    };
    const title = key === "calls" ? "calls per second" : "threads in products";
    const at = (bin) => bin === 0 ? "0" : duration(bin * timeline.bin_ns);
    $("timeline-note").textContent = `Each bar is ${duration(timeline.bin_ns)}; the first begins at ${timeline.begin.slice(0, 23).replace("T", " ")} UTC.`;
    draw("timeline-chart", `Timeline: ${title}, by applied precision.`, {
      type: "bar",
      data: {
        labels: Array.from({length}, (_, i) => at(i)),
        datasets: formats.filter((format) => timeline.formats.includes(format)).map((format) => ({
          label: format, backgroundColor: colour(format), barPercentage: 1, categoryPercentage: 1,
          data: heights(timeline.formats.indexOf(format))})),
      },
      plugins: [changeLines],
      options: {
        interaction: {mode: "index", intersect: false},
        layout: {padding: {top: data.changes.list.length ? 18 : 4}},
        scales: {
          x: {stacked: true, display: false},
          time: {axis: "x", type: "linear", position: "bottom", offset: false, min: 0, max: length * timeline.bin_ns, grid: {display: false},
                 title: {display: true, text: "since the first call"},
                 ticks: {autoSkip: false, maxRotation: 0, callback: (time_ns) => time_ns === 0 ? "0" : duration(time_ns)},
                 afterBuildTicks(axis) {
                   const step = timeStep(axis.max, axis.chart.width / 80);
                   axis.ticks = Array.from({length: Math.floor(axis.max / step) + 1}, (_, i) => ({value: i * step}));
                 }},
          y: {stacked: true, beginAtZero: true, title: {display: true, text: title}, grid: {color: colour("faint")},
              ticks: {callback: prefixedTick}},
        },
        plugins: {tooltip: {filter: (item) => item.parsed.y > 0, callbacks: {
          title: ([item]) => item ? `${at(item.dataIndex)} to ${at(item.dataIndex + 1)}` : "",
          label: (item) => `${item.dataset.label}: ${prefixed(item.parsed.y)}`}}},
      },
    });
  }
  const prefixedTick = (value) => value < 1 ? three(value) : prefixed(value);

  function drawMap() {
    const heights = {
      work: ["work of all calls", work, flops],
      host_ns: ["host time of all calls", (row) => row.host_ns, duration],
      calls: ["number of calls", (row) => row.calls, prefixed],
      mean_ns: ["host time of one call", (row) => row.host_ns / row.calls, duration],
    };
    const [title, height, text] = heights[$("map-height").value];
    const points = data.rows.filter((row) => sizes(row).length && row.calls > 0 && height(row) > 0).map((row) => ({
      x: Math.pow(sizes(row).reduce((product, length) => product * length, 1), 1 / sizes(row).length), y: height(row), row}));
    const missing = data.totals.decisions - points.length;
    $("map-note").textContent = "A point is one decision. Size is the geometric mean of m, n and k." +
      (missing ? ` ${counted(missing, "decision")} ${missing === 1 ? "is" : "are"} not drawn: not in the table below, or without a known size.` : "");
    draw("map-chart", `Size map: ${title} against size, by applied precision; the table of decisions has the numbers.`, {
      type: "scatter",
      data: {
        datasets: formats.filter((format) => points.some(({row}) => row.format === format)).map((format) => ({
          label: format, data: points.filter(({row}) => row.format === format), pointStyle: shapes[format],
          backgroundColor: colour(format) + "b0", borderColor: colour(format), borderWidth: 1.2, radius: 5.5, hoverRadius: 7.5, clip: 8})),
      },
      options: {
        scales: {x: logarithmic("size", prefixed), y: logarithmic(title, text)},
        layout: {padding: {right: 12, top: 4}},
        plugins: {tooltip: {callbacks: {
          title: (items) => items.map(({raw: {row}}) => `${row.function} ${size(row)}${row.batch > 1 ? ` batch ${row.batch}` : ""}`),
          label: ({raw: {row}}) => [route(row), ...(row.scope ? [`in ${row.scope}`] : []),
            `${row.requested} by ${source(row)}, ran at ${row.format} (${row.reason})`,
            `${counted(row.calls, "call")}, ${duration(row.host_ns)}, ${flops(work(row))}`]}}},
      },
    });
  }

  function drawCharts() {
    for (const chart of charts) chart.destroy();
    charts = [];
    Chart.defaults.color = colour("muted");
    Chart.defaults.borderColor = colour("line");
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    Chart.defaults.plugins.legend.position = "bottom";
    Object.assign(Chart.defaults.plugins.legend.labels, {usePointStyle: true, boxHeight: 7});
    Object.assign(Chart.defaults.plugins.tooltip, {
      backgroundColor: colour("panel"), titleColor: colour("text"), bodyColor: colour("text"), borderColor: colour("line"),
      borderWidth: 1, padding: 9, usePointStyle: true, boxPadding: 4});
    const hasCalls = data.totals.calls > 0;
    for (const section of document.querySelectorAll(".drawn")) section.hidden = !hasCalls;
    if (!hasCalls) return;
    drawShares();
    drawTimeline();
    drawMap();
  }

  showHead();
  showWarnings();
  showTotals();
  showFormats();
  showChanges();
  showRun();
  setUpTable();
  drawCharts();
  $("timeline-height").addEventListener("change", drawCharts);
  $("map-height").addEventListener("change", drawCharts);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
  // Paper is light.
  addEventListener("beforeprint", () => { document.documentElement.dataset.printing = ""; drawCharts(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.printing; drawCharts(); });
})();
