// Draws the page from the JSON in it. Names in that JSON are anybody's: they become text, never markup.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);

  const data = JSON.parse($("data").textContent);

  const {three, count, counted, duration, prefixed, flops, percent, element, second, swatch, breakable, colour, formats, shapes} = pageWords;

  // --- Decisions: those of the page one by one, and groups that sum up the others

  const listed = data.decisions.listed.rows.map((values) => {
    const row = {decisions: 1};
    for (const [i, [name, isText]] of data.decisions.listed.columns.entries()) {
      if (values[i] !== null) row[name] = isText ? data.decisions.listed.texts[values[i]] : values[i];
    }
    return row;
  });
  const summed = data.decisions.groups.map((group) => ({...group, isGroup: true}));
  const rest = data.decisions.rest;

  const sizes = (row) => [row.m, row.n, row.k].filter((size) => size > 0);
  const elements = (row) => sizes(row).reduce((product, size) => product * size, sizes(row).length ? row.batch ?? 1 : 0);
  const work = (row) => row.flops_total ?? (row.flops ?? 0) * row.calls;
  const mean = (row) => row.host_ns / Math.max(row.calls, 1);
  // An estimate, since only some of the short calls are timed.
  const isEstimated = (row) => row.timed_calls < row.calls;
  const route = (row) => `${row.caller ?? "?"} → ${row.provider ?? "?"}`;
  const source = (row) => row.rule ? `rule “${row.rule}”` : row.source ?? "";
  const transposes = (row) => (row.trans_a ?? "") + (row.trans_b ?? "");

  function size(row) {
    if (!row.function) return "?";
    const text = [row.m, row.n, row.k].map((length) => length ?? "?").join("×");
    return (row.sizes_folded ? "≤ " : "") + text;
  }
  // Class of the largest of m, n and k: above one power of two, up to the next.
  function sizeClass(row) {
    if (row.isGroup) return row.max_dim_to ?? -1;
    const largest = Math.max(row.m ?? -1, row.n ?? -1, row.k ?? -1);
    return largest < 1 ? largest : 2 ** Math.ceil(Math.log2(largest));
  }
  function classText(highest) {
    if (highest < 0) return "?";
    return highest <= 2 ? String(highest) : `${highest / 2 + 1}–${highest}`;
  }

  // --- Columns: `value` sorts, `cell` is shown; a narrow page leaves out those that are `wide`

  const functionText = (row) => row.function ?? (row.isGroup && row.requested ? "all" : "found no room");
  const place = (row) => `${row.dtype}, ${row.device}${row.device_index === undefined ? "" : " " + row.device_index}`;
  const narrow = (text) => element("span", {class: "second narrow"}, text);
  const hasSpread = (row) => row.timed_calls > 1;
  const hasMedian = (row) => hasSpread(row) && row.host_ns_median !== undefined;
  const amounts = [
    {id: "calls", title: "Calls", value: (row) => row.calls, number: true, cell: (row) => [count(row.calls)]},
    {id: "host_ns", title: "Host time", value: (row) => row.host_ns, number: true, cell: (row) =>
      [(isEstimated(row) ? "≈ " : "") + duration(row.host_ns),
       element("span", {class: "second tight"}, percent(row.host_ns, view.totals.host_ns))]},
    {title: "Mean", value: mean, number: true, wide: true, cell: (row) =>
      [(isEstimated(row) ? "≈ " : "") + duration(mean(row)),
       hasSpread(row) && row.host_ns_min < row.host_ns_max && second(`${duration(row.host_ns_min)} – ${duration(row.host_ns_max)}`)]},
    {title: "Median", value: (row) => row.host_ns_median ?? -1, number: true, wide: true,
     isNeeded: () => !grouping().any && listed.some(hasMedian), cell: (row) => [hasMedian(row) ? duration(row.host_ns_median) : "–"]},
    {id: "work", title: "Work", value: work, number: true, wide: true, cell: (row) => [flops(work(row))]},
    {title: "Share", value: (row) => row.host_ns, number: true, class: "roomy", wide: true, cell: (row) =>
      [percent(row.host_ns, view.totals.host_ns), element("progress", {max: Math.max(view.totals.host_ns, 1), value: row.host_ns, "aria-hidden": "true"})]},
  ];
  const applied = {title: "Applied", value: (row) => row.format, class: "format", cell: (row) =>
    [swatch(row.format), row.format, row.actual && second("as the library says"),
     row.how && row.how !== "forward" && element("span", {class: "second wide"}, row.how),
     row.refused && element("span", {class: "second narrow warning"}, `not ${row.requested}`)]};
  const reason = {title: "Reason", value: (row) => row.reason ?? "", wide: true, cell: (row) =>
    [row.reason ?? "?", row.detail && second(row.detail), row.status > 0 && second(`status ${row.status}`)]};
  const decisionColumns = [
    {title: "Call site", value: route, wide: true, class: "site", cell: (row) => row.isGroup
      ? [`${counted(row.decisions, "decision")}, summed up`]
      : [breakable(row.caller ?? "?"), element("span", {class: "to"}, "→ ", breakable(row.provider ?? "?"))]},
    {title: "Where", value: (row) => row.where ?? "", wide: true, class: "scope", isNeeded: () => listed.some((row) => row.where),
     cell: (row) => [row.where ? breakable(row.where) : row.isGroup ? "" : "–"]},
    {title: "Scope", value: (row) => row.scope ?? "", wide: true, class: "scope", isNeeded: () => listed.some((row) => row.scope),
     cell: (row) => [row.scope ? breakable(row.scope) : row.isGroup ? "" : "–"]},
    {title: "Function", value: (row) => row.function ?? "", cell: (row) =>
      [functionText(row), row.dtype && element("span", {class: "second wide"}, place(row)),
       element("span", {class: "second narrow size"}, row.isGroup ? `${counted(row.decisions, "size")} of ${classText(sizeClass(row))}` : size(row)),
       row.scope && element("span", {class: "second narrow"}, "in ", breakable(row.scope))]},
    {title: "Size m×n×k", value: (row) => row.isGroup ? row.size ?? 0 : elements(row) ** (1 / 3), class: "size", wide: true, cell: (row) => row.isGroup
      ? [classText(sizeClass(row)), second("largest of m, n, k")]
      : [size(row), (row.batch > 1 || transposes(row)) && second([transposes(row), row.batch > 1 && `batch ${row.batch}`].filter(Boolean).join(", "))]},
    {title: "Requested", value: (row) => row.requested ?? "", wide: true, cell: (row) => [row.requested ?? "?", second(source(row))]},
    applied, reason, ...amounts];
  const groupColumns = [
    {title: "Where", value: (row) => row.where ?? "", isNeeded: () => grouping().where, cell: (row) => [breakable(row.where ?? "–")]},
    {title: "Scope", value: (row) => row.scope ?? "", isNeeded: () => grouping().scope, cell: (row) => [breakable(row.scope ?? "–")]},
    {title: "Caller", value: (row) => row.caller ?? "", isNeeded: () => grouping().caller, cell: (row) => [breakable(row.caller ?? "–")]},
    {title: "Function", value: (row) => row.function ?? "", isNeeded: () => grouping().function, cell: (row) => [functionText(row)]},
    {title: "Largest of m, n, k", value: sizeClass, class: "size", isNeeded: () => grouping().size, cell: (row) => [classText(sizeClass(row))]},
    {title: "Requested", value: (row) => row.requested ?? "", wide: true, cell: (row) => [row.requested ?? "?"]},
    applied, reason,
    {title: "Decisions", value: (row) => row.decisions, number: true, wide: true, cell: (row) => [count(row.decisions)]},
    ...amounts];

  // --- Head, warnings, totals

  function showHead() {
    const all = data.commands.values.length ? data.commands : data.programs;
    const names = (all.values.length === 1 && !all.more ? all : data.programs);
    const title = names.values.map((value) => value.text).join(", ") + (names.more ? ` and ${names.more} more` : "");
    $("programs").textContent = title || "Unknown program";
    $("programs").title = title;
    $("programs").classList.toggle("long", title.length > 60);
    document.title = `${title || "unknown program"} – fp32shim report`;
    const facts = Object.fromEntries(data.facts.map((fact) => [fact.name, fact]));
    const list = (fact, separator = ", ") => fact.values.map((value) => value.text).join(separator) + (fact.more ? ` and ${fact.more} more` : "");
    const command = facts.Command?.values.length === 1 ? facts.Command.values[0].text : "";
    $("command").hidden = !command || command === title;
    $("command").textContent = command;
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
    $("formats").tHead.replaceChildren();
    $("formats").tBodies[0].replaceChildren();
    const head = ["Applied", "Calls", "", "Host time", "", "Work", ""];
    const kind = (i) => i === 0 ? "" : i > 4 ? "number wide" : "number";
    $("formats").tHead.append(element("tr", {}, ...head.map((text, i) =>
      element("th", {scope: "col", class: kind(i)}, text || element("span", {class: "unseen"}, "share")))));
    for (const row of view.formats) {
      const cells = [count(row.calls), percent(row.calls, view.totals.calls), (row.estimated ? "≈ " : "") + duration(row.host_ns),
                     percent(row.host_ns, view.totals.host_ns), flops(row.work), percent(row.work, view.totals.work)];
      $("formats").tBodies[0].append(element("tr", {},
        element("th", {scope: "row", class: "format"}, swatch(row.format), row.format),
        ...cells.map((text, i) => element("td", {class: kind(i + 1)}, text))));
    }
    const isUnchanged = view.formats.some((row) => row.format === "unchanged");
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

  // Draws a table that comes in words.
  function showTable(id, {heads, rows, more}) {
    $(id).hidden = rows.length === 0;
    const table = document.querySelector(`#${id} table`);
    const kindOf = (head) => head.number ? "number" : "";
    const titled = (text) => text[0].toUpperCase() + text.slice(1);
    table.tHead.append(element("tr", {}, ...heads.map((head) => element("th", {scope: "col", class: kindOf(head)}, titled(head.title)))));
    for (const row of rows)
      table.tBodies[0].append(element("tr", {}, ...row.map((text, i) => element("td", {class: kindOf(heads[i])}, text))));
    if (more) table.tBodies[0].append(element("tr", {}, element("td", {colSpan: heads.length}, `and ${count(more)} more`)));
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

  // 128x512 and 128×512 are the same words.
  const withTimes = (text) => text.replace(/(?<=[\d?])\s*[x×*]\s*(?=[\d?]|$)|^[x×*](?=\d)/g, "×");
  const searched = ["function", "dtype", "device", "compute_capability", "trans_a", "trans_b", "caller", "where", "scope", "provider",
                    "requested", "source", "rule", "applied", "actual", "how", "reason", "detail", "format"];
  const entries = [...listed, ...summed].map((row) => ({row, element: null,
    text: searched.map((key) => row[key] ?? "").concat(row.isGroup ? "" : `${size(row)}\n${route(row)}`).join("\n").toLowerCase()}));
  // Calls that the page shows: all, or those below a box of the graph.
  let view = {name: "", entries, formats: data.formats, totals: data.totals};
  const chunk = 1000;  // rows that are drawn at once
  let chosen = entries;
  let order = {title: decisionColumns.find((column) => column.id === data.sort).title, descending: true};
  let drawn = chunk;

  function grouping() {
    const words = $("filter-by").value.split(" ");
    return {...Object.fromEntries(["where", "scope", "caller", "function", "size"].map((word) => [word, words.includes(word)])), any: words[0] !== ""};
  }
  function columnsNow() {
    return (grouping().any ? groupColumns : decisionColumns).filter((column) => column.isNeeded?.() ?? true);
  }
  const classOf = (column) => [column.number && "number", column.class, column.wide && "wide"].filter(Boolean).join(" ");

  function elementOf(entry, columns) {
    entry.element ??= element("tr", {}, ...columns.map((column) =>
      element("td", {class: classOf(column)}, ...column.cell(entry.row).filter(Boolean))));
    return entry.element;
  }

  // Merges rows like fp32shim report --by.
  const textKeys = ["where", "scope", "caller", "function"];
  function groupedEntries() {
    const by = grouping();
    const groups = new Map();
    for (const {row} of chosen) {
      const texts = textKeys.map((name) => by[name] ? row[name] : undefined);
      const key = [...texts, by.size && sizeClass(row), row.requested, row.format, row.reason].join("\n");
      let group = groups.get(key);
      if (!group) {
        group = {isGroup: true, ...Object.fromEntries(textKeys.map((name, i) => [name, texts[i]])), max_dim_to: sizeClass(row), requested: row.requested,
                 format: row.format, reason: row.reason, refused: row.refused, decisions: 0, calls: 0, host_ns: 0, timed_calls: 0,
                 flops_total: 0, host_ns_min: Infinity, host_ns_max: 0};
        groups.set(key, group);
      }
      for (const sum of ["decisions", "calls", "host_ns", "timed_calls"]) group[sum] += row[sum];
      group.flops_total += work(row);
      group.host_ns_min = Math.min(group.host_ns_min, row.host_ns_min);
      group.host_ns_max = Math.max(group.host_ns_max, row.host_ns_max);
    }
    return [...groups.values()].map((row) => ({row, element: null}));
  }

  function showHeads(columns) {
    $("decisions").tHead.rows[0].replaceChildren(...columns.map((column) => {
      const button = element("button", {type: "button"}, column.title);
      button.addEventListener("click", () => {
        const isNumber = column.number || column.class === "size";
        order = {title: column.title, descending: order.title === column.title ? !order.descending : isNumber};
        showRows();
        [...$("decisions").tHead.querySelectorAll("button")].find((other) => other.textContent === column.title).focus();
      });
      const direction = order.title !== column.title ? "none" : order.descending ? "descending" : "ascending";
      return element("th", {scope: "col", class: classOf(column), "aria-sort": direction}, button);
    }));
  }

  function showRows() {
    const columns = columnsNow();
    const column = columns.find((one) => one.title === order.title) ?? columns.find((one) => one.id === "host_ns");
    order.title = column.title;
    const compare = column.number || column.class === "size"
      ? (a, b) => a - b : (a, b) => String(a).localeCompare(String(b), "en", {numeric: true});
    const keyed = (grouping().any ? groupedEntries() : chosen).map((entry) => [column.value(entry.row), entry]);
    keyed.sort((a, b) => order.descending ? compare(b[0], a[0]) : compare(a[0], b[0]));
    showHeads(columns);
    const body = $("decisions").tBodies[0];
    body.replaceChildren(...keyed.slice(0, drawn).map(([, entry]) => elementOf(entry, columns)));
    if (keyed.length === 0) {
      const text = entries.length ? "No decision matches the filter." : "No calls were recorded.";
      body.append(element("tr", {class: "none"}, element("td", {colSpan: columns.length}, text)));
    }
    $("more").hidden = keyed.length <= drawn;
    $("more-rows").textContent = `${counted(keyed.length - drawn, "more row")} of this table`;
  }

  // Answer to the filters, and its limits.
  function showAnswer(uncertain) {
    const sum = (value) => chosen.reduce((total, {row}) => total + value(row), 0);
    const decisions = sum((row) => row.decisions);
    const inGroups = chosen.reduce((total, {row}) => total + (row.isGroup ? row.decisions : 0), 0);
    $("shown").textContent = `Showing ${count(decisions)} of ${counted(view.totals.decisions, "decision")}${view.name && " of this call path"}: ` +
      `${counted(sum((row) => row.calls), "call")}, ${duration(sum((row) => row.host_ns))} host time.`;
    const notes = [];
    if (view.other?.calls) {
      notes.push(`${counted(view.other.calls, "call")} of this path (${duration(view.other.host_ns)}) belong to decisions that are not listed one by one.`);
    }
    if (inGroups && !grouping().any)
      notes.push(`${counted(inGroups, "decision")} of them ${inGroups === 1 ? "is" : "are"} not listed one by one, but summed up by function and size.`);
    if (uncertain.decisions) {
      notes.push(`Not certain: ${counted(uncertain.decisions, "further decision")} (${counted(uncertain.calls, "call")}) ` +
        `${uncertain.decisions === 1 ? "is" : "are"} summed up, and this page does not know ${uncertain.decisions === 1 ? "its size, call site, scope and rule" : "their sizes, call sites, scopes and rules"}.`);
    }
    if (rest.decisions && !view.name) {
      notes.push(`${counted(rest.decisions, "further decision")} (${counted(rest.calls, "call")}, ${duration(rest.host_ns)}) ` +
        "are not on this page; no filter finds them.");
    }
    if (uncertain.decisions || rest.decisions) notes.push("fp32shim report --format csv has all, one by one.");
    $("answer-note").textContent = notes.join(" ");
    $("answer-note").hidden = notes.length === 0;
    $("answer-note").classList.toggle("warning", uncertain.decisions > 0 || rest.decisions > 0);
  }

  function filterRows() {
    const words = $("filter-text").value.toLowerCase().replace(/(\d)\s+[x×*]\s+(?=\d)/g, "$1x").split(/\s+/).filter(Boolean)
      .map((word) => [word, withTimes(word)]);
    const format = $("filter-applied").value, name = $("filter-function").value, refused = $("filter-refused").checked;
    const uncertain = {decisions: 0, calls: 0};
    chosen = view.entries.filter(({row, text}) => {
      if ((format && row.format !== format) || (name && row.function !== name) || (refused && !row.refused)) return false;
      if (words.every(([word, size]) => text.includes(word) || text.includes(size))) return true;
      if (row.isGroup) {
        uncertain.decisions += row.decisions;
        uncertain.calls += row.calls;
      }
      return false;
    });
    drawn = chunk;
    showRows();
    showAnswer(uncertain);
  }

  function setUpTable() {
    const options = (id, values) => $(id).append(...values.map((value) => element("option", {value}, value)));
    options("filter-applied", data.formats.map((row) => row.format));
    options("filter-function", [...new Set(entries.map(({row}) => row.function).filter(Boolean))].sort());
    for (const key of ["where", "scope", "caller"]) {
      if (!listed.some((row) => row[key])) $("filter-by").querySelector(`[value=${key}]`).remove();
    }
    const by = ["where", "scope", "caller", "function", "size", "precision"].filter((word) => data.by[word]);
    if (![...$("filter-by").options].some((option) => option.value === by.join(" ")))
      $("filter-by").append(element("option", {value: by.join(" ")}, `by ${by.join(", ")}`));
    $("filter-by").value = by.join(" ");
    for (const option of $("filter-by").options) option.defaultSelected = option.selected;
    for (const event of ["input", "change"]) {
      $("filters").addEventListener(event, (change) => {
        if (change.target.id === "filter-by") for (const entry of entries) entry.element = null;
        filterRows();
      });
    }
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("filters").addEventListener("reset", () => setTimeout(filterRows));
    $("more").querySelector("button").addEventListener("click", () => {
      drawn = Infinity;
      showRows();
    });
    $("all-columns").addEventListener("change", () => $("decisions").classList.toggle("all", $("all-columns").checked));
    $("estimated").hidden = !entries.some(({row}) => isEstimated(row));
    $("spread").hidden = !entries.some(({row}) => hasSpread(row));
    filterRows();
  }

  // --- Charts

  let charts = [];

  function draw(id, label, configuration) {
    $(id).setAttribute("aria-label", label);
    charts.push(new Chart($(id), configuration));
  }

  // --- Call paths

  const measures = {host_ns: duration, calls: (value) => counted(value, "call"), work: flops};
  let graph = null;

  // Shows the calls of a call path only; null: all calls.
  function showSelection(selection) {
    for (const entry of entries) entry.element = null;  // shares are of what is shown
    $("selected").hidden = selection === null;
    if (selection === null) {
      view = {name: "", entries, formats: data.formats, totals: data.totals};
    } else {
      $("selected").querySelector("span").textContent = `Only calls below ${selection.name}`;
      const sum = (key) => selection.formats.reduce((total, row) => total + row[key], 0);
      const parts = [...selection.rows].map(([place, part]) => partOf(entries[place], part));
      const isEstimate = (format) => data.formats.find((row) => row.format === format)?.estimated;
      view = {...selection, formats: selection.formats.map((row) => ({...row, estimated: isEstimate(row.format)})), entries: parts, totals: {calls: sum("calls"), host_ns: sum("host_ns"), work: sum("work"), decisions: parts.length}};
    }
    showFormats();
    filterRows();
    drawCharts();
  }
  // A decision with only some of its calls, of which the shortest, the longest and the median are not known.
  function partOf(entry, part) {
    if (part.calls === entry.row.calls) return entry;
    const row = {...entry.row, calls: part.calls, host_ns: part.host_ns, timed_calls: isEstimated(entry.row) ? 0 : part.calls,
                 host_ns_min: undefined, host_ns_max: undefined, host_ns_median: undefined};
    return {...entry, row, element: null};
  }

  function openGraph() {
    graph?.close();
    const kind = $("paths-of").value;
    const tree = data[kind];
    graph = flameGraph({tree, sources: data.sources, amount: (key, value) => measures[key](value), onSelect: showSelection});
    const notes = [kind === "paths"
      ? "Callers are on top; the last box is the function that multiplies. A click shows only the calls below a box, here and in the rest of the page."
      : "Scopes by their labels, split at / and at every point."];
    if (tree.folded) notes.push(`${counted(tree.folded, "further sum")} of calls found no room and count at a caller.`);
    if (kind === "paths" && !tree.line.some((line) => line > 0)) notes.push("Lines of Python need a recording with fp32shim run --where python.");
    $("paths-note").textContent = notes.join(" ") + " Keys: arrows, Enter, Escape, / to find.";
    graph.redraw();
  }
  function setUpGraph() {
    $("paths-levels").hidden = data.scopes === null;
    $("paths-width").value = data.sort;
    $("paths-of").addEventListener("change", () => {
      openGraph();
      showSelection(null);
    });
    $("selected").querySelector("button").addEventListener("click", () => graph.showAll());
    $("paths-form").addEventListener("submit", (event) => event.preventDefault());
    if (data.totals.calls > 0) openGraph();
  }

  // Ticks of a logarithmic axis: powers of ten, and 2 and 5 where there is room.
  function logarithmic(title, text) {
    return {type: "logarithmic", title: {display: true, text: title}, grid: {color: colour("faint")},
            ticks: {callback: (value) => /^[125]/.test(value.toExponential()) ? text(value) : "", autoSkip: true, maxRotation: 0}};
  }

  function drawShares() {
    const sums = [["calls", "calls"], ["host time", "host_ns"], ["work", "work"]].filter(([, key]) => view.totals[key] > 0);
    draw("formats-chart", "Shares of calls, host time and work by applied precision; the table beside it has the numbers.", {
      type: "bar",
      data: {
        labels: sums.map(([name]) => name),
        datasets: view.formats.map((row) => ({
          label: row.format, backgroundColor: colour(row.format), borderColor: colour("page"), borderWidth: {right: 1.5},
          barPercentage: 0.75, data: sums.map(([, key]) => 100 * row[key] / view.totals[key])})),
      },
      options: {
        indexAxis: "y",
        scales: {
          x: {stacked: true, min: 0, max: 100, grid: {color: colour("faint")}, ticks: {callback: (value) => `${value} %`}},
          y: {stacked: true, grid: {display: false}},
        },
        plugins: {tooltip: {callbacks: {label: (item) => `${item.dataset.label}: ${percent(item.parsed.x, 100)}`}}},
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

  // Returns a round step for about so many ticks of time: whole minutes once duration() shows no seconds.
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
      mean_ns: ["host time of one call", mean, duration],
    };
    const [title, height, text] = heights[$("map-height").value];
    const points = view.entries.map(({row}) => row).filter((row) => (row.size ?? sizes(row).length) && row.calls > 0 && height(row) > 0).map((row) => ({
      x: row.size ?? Math.pow(sizes(row).reduce((product, length) => product * length, 1), 1 / sizes(row).length),
      y: height(row) / (row.isGroup && height !== mean ? row.decisions : 1), decisions: row.sized ?? row.decisions, row}));
    const missing = view.totals.decisions - points.reduce((sum, point) => sum + point.decisions, 0);
    const averaged = points.reduce((sum, point) => sum + (point.row.isGroup ? point.decisions : 0), 0);
    $("map-note").textContent = "A point is one decision; a point with a number is so many, at their mean, that would hide each other. " +
      "Size is the geometric mean of m, n and k." +
      (averaged ? ` ${counted(averaged, "decision")} that the table sums up ${averaged === 1 ? "is" : "are"} drawn at the mean of function and size.` : "") +
      (missing ? ` ${counted(missing, "decision")} ${missing === 1 ? "is" : "are"} not drawn: without a known size or height${rest.decisions ? ", or not on this page" : ""}.` : "");
    const ranges = {x: rangeOf(points.map((point) => point.x)), y: rangeOf(points.map((point) => point.y))};
    const clusters = clustersOf(points, ranges, $("map-chart").parentElement.clientWidth - 90, 250);
    const label = ({row}) => `${functionText(row)} ${row.isGroup ? classText(sizeClass(row)) : size(row)}${row.batch > 1 ? ` batch ${row.batch}` : ""}`;
    const sum = (cluster, value) => cluster.points.reduce((total, {row}) => total + value(row), 0);
    draw("map-chart", `Size map: ${title} against size, by applied precision; the table of decisions has the numbers.`, {
      type: "scatter",
      data: {
        datasets: formats.filter((format) => clusters.some((cluster) => cluster.format === format)).map((format) => {
          const own = clusters.filter((cluster) => cluster.format === format);
          const radii = own.map((cluster) => cluster.decisions === 1 ? 5.5 : 9);
          return {label: format, data: own, pointStyle: own.map((cluster) => cluster.decisions === 1 ? shapes[format] : countShape(format)),
                  backgroundColor: colour(format) + "c0", borderColor: colour(format), borderWidth: 1.2, radius: radii,
                  hoverRadius: radii.map((radius) => radius + 2), clip: 10};
        }),
      },
      plugins: [clusterCounts],
      options: {
        scales: {x: {...logarithmic("size", prefixed), min: ranges.x[0], max: ranges.x[1]},
                 y: {...logarithmic(title, text), min: ranges.y[0], max: ranges.y[1]}},
        layout: {padding: {right: 12, top: 10}},
        plugins: {
          legend: {labels: {generateLabels: (chart) => Chart.defaults.plugins.legend.labels.generateLabels(chart).map((item) =>
            ({...item, pointStyle: shapes[item.text]}))}},
          tooltip: {callbacks: {
            title: (items) => items.map(({raw}) => raw.decisions === 1 ? label(raw.points[0]) : `${counted(raw.decisions, "decision")}, ${raw.format}`),
            label: ({raw}) => {
              const {row} = raw.points[0];
              if (raw.decisions > 1) {
                const names = raw.points.slice(0, 6).map(label);
                return [...names, ...(raw.points.length > 6 ? [`and ${count(raw.points.length - 6)} more`] : []),
                        `${counted(sum(raw, (one) => one.calls), "call")}, ${duration(sum(raw, (one) => one.host_ns))}, ${flops(sum(raw, work))}`];
              }
              return [route(row), ...(row.scope ? [`in ${row.scope}`] : []),
                `${row.requested} by ${source(row)}, ran at ${row.format} (${row.reason})`,
                `${counted(row.calls, "call")}, ${duration(row.host_ns)}, ${flops(work(row))}`];
            }}},
        },
      },
    });
  }

  // The numbers 1, 2, 5, 10, … around these values.
  function rangeOf(values) {
    const round = (value, direction) => {
      const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
      const steps = [1, 2, 5, 10].map((step) => step * power);
      return direction < 0 ? steps.findLast((step) => step <= value * 1.0001) ?? power : steps.find((step) => step >= value * 0.9999);
    };
    const lowest = values.reduce((a, b) => Math.min(a, b), Infinity), highest = values.reduce((a, b) => Math.max(a, b), 0);
    return values.length ? [round(lowest * 0.9, -1), round(highest * 1.1, 1)] : [1, 10];
  }

  // Points of one format that would hide each other become one; the more there are, the farther around.
  function merged(points, perX, perY, reach) {
    const clusters = [];
    for (const point of points) {
      const x = Math.log(point.x) * perX, y = Math.log(point.y) * perY;
      const near = clusters.find((cluster) => cluster.format === point.row.format && Math.hypot(cluster.left - x, cluster.up - y) < reach);
      const cluster = near ?? {format: point.row.format, left: x, up: y, sumX: 0, sumY: 0, decisions: 0, points: []};
      if (!near) clusters.push(cluster);
      cluster.sumX += Math.log(point.x) * point.decisions;
      cluster.sumY += Math.log(point.y) * point.decisions;
      cluster.decisions += point.decisions;
      cluster.points.push(point);
    }
    return clusters;
  }

  // Points of the map; those of several formats that would hide each other stand side by side.
  function clustersOf(points, ranges, width, height) {
    const apart = 19;  // pixels
    const scale = ([lowest, highest], length) => length / Math.log(highest / lowest);
    const perX = scale(ranges.x, Math.max(width, 100)), perY = scale(ranges.y, height);
    const sorted = [...points].sort((a, b) => b.y - a.y);
    let reach = apart, clusters = merged(sorted, perX, perY, reach);
    while (clusters.length > width * height / 2000) clusters = merged(sorted, perX, perY, reach *= 1.3);
    const steps = [0, 1, -1, 2, -2, 3, -3].flatMap((x) => [0, 1, -1].map((y) => [x, y])).sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
    const floor = Math.log(ranges.y[0]) * perY;
    const placed = [];
    for (const cluster of clusters) {
      const left = cluster.sumX / cluster.decisions * perX, up = cluster.sumY / cluster.decisions * perY;
      const isFree = ([x, y]) => up + y * apart >= floor && placed.every((other) => Math.hypot(other.x - left - x * apart, other.y - up - y * apart) >= apart * 0.95);
      const [x, y] = steps.find(isFree) ?? [0, 0];
      placed.push({x: left + x * apart, y: up + y * apart});
      const isOne = cluster.points.length === 1;
      cluster.x = (isOne ? cluster.points[0].x : Math.exp(cluster.sumX / cluster.decisions)) * Math.exp(x * apart / perX);
      cluster.y = (isOne ? cluster.points[0].y : Math.exp(cluster.sumY / cluster.decisions)) * Math.exp(y * apart / perY);
    }
    return clusters;
  }
  // Shapes that have room for a number.
  const countShape = (format) => ["circle", "rect", "rectRounded", "rectRot", "triangle"].includes(shapes[format]) ? shapes[format] : "circle";

  // Number of decisions of a point.
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
        for (const [k, cluster] of dataset.data.entries()) {
          if (cluster.decisions === 1) continue;
          const point = chart.getDatasetMeta(i).data[k];
          context.strokeStyle = colour("page");
          context.fillStyle = colour("text");
          const words = prefixed(cluster.decisions).replace(" ", "");
          context.strokeText(words, point.x, point.y + 0.5);
          context.fillText(words, point.x, point.y + 0.5);
        }
      }
      context.restore();
    },
  };

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
    $("timeline-all").hidden = !view.name;
    drawMap();
  }

  function drawAll() {
    drawCharts();
    graph?.redraw();
  }

  showHead();
  showWarnings();
  showTotals();
  showFormats();
  showChanges();
  showTable("nonfinite", data.nonfinite);
  showTable("audits", data.audits);
  showRun();
  setUpTable();
  drawCharts();
  setUpGraph();
  $("timeline-height").addEventListener("change", drawCharts);
  $("map-height").addEventListener("change", drawCharts);
  let width = innerWidth, later = 0;
  addEventListener("resize", () => {  // points that hid each other may have room now
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(later);
    later = setTimeout(drawAll, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // Paper is light.
  addEventListener("beforeprint", () => { document.documentElement.dataset.printing = ""; drawAll(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.printing; drawAll(); });
})();
