// Draws the page of a comparison from the JSON in it.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const {count, counted, duration, flops, percent, element, swatch, breakable} = pageWords;
  const data = JSON.parse($("data").textContent);
  const sides = ["before", "after"];
  const measures = {host_ns: duration, calls: (value) => counted(value, "call"), work: flops};

  // −12.3 %; new, gone
  function change(before, after) {
    if (before === after) return "–";
    if (before === 0 || after === 0) return before === 0 ? "new" : "gone";
    const share = 100 * (after - before) / before;
    return `${share < 0 ? "−" : "+"}${Math.abs(share).toFixed(Math.abs(share) < 10 ? 1 : 0)} %`;
  }
  const total = (parts, key) => parts.reduce((sum, part) => sum + part[key], 0);

  function showHead() {
    const names = [...new Set(sides.map((side) => data[side].program))];
    $("programs").textContent = names.join(" → ") || "Unknown program";
    document.title = `${names.join(" → ")} – fp32shim report --diff`;
    $("filtered").hidden = !data.filtered;
    $("version").textContent = data.version;
    $("warnings").hidden = data.warnings.length === 0;
    document.querySelector("#warnings > ul").append(...data.warnings.map((text) => element("li", {}, text)));
    $("changed-files").hidden = data.changed_files.length === 0;
    $("changed-files").textContent = `Compared without lines or offsets, since calls of the same functions are at others: ${data.changed_files.join(", ")}`;
  }

  const formatCells = (formats, whole) => formats.flatMap(({format, calls}) =>
    [element("span", {class: "format"}, swatch(format), formats.length === 1 ? format : `${format} ${percent(calls, whole)}`), " "]);

  function showSides() {
    $("sides").tHead.replaceChildren(element("tr", {}, ...["", "Calls", "Host time", "Work", "Ran at", "Program"].map((title, i) =>
      element("th", {scope: "col", class: i > 0 && i < 4 ? "number" : ""}, title))));
    const row = (name, numbers, ran, program) => element("tr", {}, element("th", {scope: "row"}, name),
      ...numbers.map((text) => element("td", {class: "number"}, text)), element("td", {}, ...ran), element("td", {}, ...program));
    const both = sides.map((side) => data[side]);
    $("sides").tBodies[0].replaceChildren(
      ...both.map((side, i) => row(sides[i], [count(side.calls), (side.estimated ? "≈ " : "") + duration(side.host_ns), flops(side.work)],
                                   formatCells(side.formats, side.calls), [breakable(side.program), element("span", {class: "second"}, side.when)])),
      row("change", ["calls", "host_ns", "work"].map((key) => change(both[0][key], both[1][key])), [], []));
  }

  // --- Groups: those of the page, or their part below a box of the graph

  const groups = data.groups.map((group) => ({...group, text: [...data.keys.map((key) => group.keys[key] ?? ""),
    ...sides.flatMap((side) => group[side].formats.map(({format}) => format))].join("\n").toLowerCase()}));
  let shown = groups;
  let order = {title: "Change", descending: true};

  const ran = (group, side) => group[side].formats.length ? formatCells(group[side].formats, total(group[side].formats, "calls")) : ["–"];
  const titles = {where: "Where", scope: "Scope", call_site: "Call site", caller: "Caller", function: "Function", max_dim: "Largest of m, n, k", ran_at: "Ran at"};
  const numbers = (title, key, text) => sides.map((side) => ({title: `${title} ${side}`, number: true, value: (group) => group[side][key],
    cell: (group) => [group[side].calls ? (key === "host_ns" && group[side].estimated ? "≈ " : "") + text(group[side][key]) : "–"]}));
  const columns = [
    ...data.keys.map((key) => ({title: titles[key], value: (group) => group.keys[key] ?? "", cell: (group) => [breakable(group.keys[key] ?? "–")]})),
    {title: "Before", value: (group) => group.before.formats[0]?.format ?? "", cell: (group) => ran(group, "before")},
    {title: "After", value: (group) => group.after.formats[0]?.format ?? "", cell: (group) => ran(group, "after")},
    ...numbers("Calls", "calls", count), ...numbers("Host time", "host_ns", duration),
    {title: "Change", number: true, value: (group) => Math.abs(group.after[data.sort] - group.before[data.sort]),
     cell: (group) => [change(group.before[data.sort], group.after[data.sort])]},
  ];

  function showGroups() {
    const words = $("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const column = columns.find(({title}) => title === order.title);
    const compare = column.number ? (a, b) => a - b : (a, b) => String(a).localeCompare(String(b), "en", {numeric: true});
    const rows = shown.filter((group) => (!$("filter-otherwise").checked || group.otherwise) && words.every((word) => group.text.includes(word)))
      .sort((a, b) => (order.descending ? -1 : 1) * compare(column.value(a), column.value(b)));
    $("decisions").tHead.rows[0].replaceChildren(...columns.map((one) => {
      const button = element("button", {type: "button"}, one.title);
      button.addEventListener("click", () => {
        order = {title: one.title, descending: order.title === one.title ? !order.descending : Boolean(one.number)};
        showGroups();
      });
      const direction = order.title !== one.title ? "none" : order.descending ? "descending" : "ascending";
      return element("th", {scope: "col", class: one.number ? "number" : "", "aria-sort": direction}, button);
    }));
    $("decisions").tBodies[0].replaceChildren(...rows.map((group) =>
      element("tr", {}, ...columns.map((one) => element("td", {class: one.number ? "number" : ""}, ...one.cell(group))))));
    $("shown").textContent = `Showing ${count(rows.length)} of ${counted(shown.length, "group")}; ` +
      `${count(rows.filter((group) => group.otherwise).length)} ran at another precision.`;
  }

  // Shows the calls below a box only, by their sums before and after; null: all.
  function showSelection(before, after) {
    $("selected").hidden = before === null;
    shown = groups;
    if (before !== null) {
      const left = before.other.calls + after.other.calls;
      $("selected").querySelector("span").textContent = `Only calls below ${before.name}` +
        (left ? `; ${counted(left, "call")} of them belong to groups that are not listed` : "");
      const shares = ({formats, calls}) => formats.map(({format, calls: some}) => `${format} ${percent(some, calls)}`).join();
      const part = (selection, place, side) => {
        const {ran, ...sums} = selection.rows.get(place) ?? {calls: 0, host_ns: 0, work: 0, ran: new Map()};
        return {...sums, estimated: groups[place][side].estimated,
                formats: [...ran].map(([format, calls]) => ({format, calls})).sort((a, b) => b.calls - a.calls)};
      };
      shown = [...new Set([...before.rows.keys(), ...after.rows.keys()])].map((place) => {
        const one = part(before, place, "before"), other = part(after, place, "after");
        return {...groups[place], before: one, after: other, otherwise: one.calls > 0 && other.calls > 0 && shares(one) !== shares(other)};
      });
    }
    showGroups();
  }

  showHead();
  showSides();
  showGroups();
  $("more").hidden = data.more === 0;
  $("more").textContent = `${counted(data.more, "further group")} changed less and are not on this page; fp32shim report --diff --format csv has all.`;
  for (const event of ["input", "change"]) $("filters").addEventListener(event, showGroups);
  for (const form of ["filters", "paths-form"]) $(form).addEventListener("submit", (event) => event.preventDefault());
  $("paths").hidden = data.before.calls + data.after.calls === 0;
  if ($("paths").hidden) return;
  $("paths-width").value = data.sort;
  if (data.paths.folded) $("paths-note").append(` ${counted(data.paths.folded, "further sum")} of calls found no room and count at a caller.`);
  const graph = flameGraph({tree: data.paths, sources: data.sources, isComparison: true, amount: (key, value) => measures[key](value), onSelect: showSelection});
  $("selected").querySelector("button").addEventListener("click", () => graph.showAll());
  graph.redraw();
  let later = 0;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => graph.redraw(), 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.redraw());
})();
