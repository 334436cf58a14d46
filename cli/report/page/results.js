// Draws the page of `fp32shim diff` from the JSON in it.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const {count, counted, element, breakable, colour} = pageWords;
  const data = JSON.parse($("data").textContent);
  const sides = ["a", "b"];

  const difference = (value) => value === null ? "infinite" : value === 0 ? "0" : value.toExponential(1);
  const both = (product, key) => product.a[key] === product.b[key] ? product.a[key] ?? "–" : `${product.a[key] ?? "–"} → ${product.b[key] ?? "–"}`;
  const size = ({m, n, k, batch}) => `${[m, n, k].map((one) => one ?? "?").join("x")}${batch === 1 ? "" : ` batch ${count(batch)}`}`;
  const number = (product) => count(product.a.number) + (data.threads > 1 ? ` of thread ${product.thread}` : "");

  function fill(id, columns, rows) {
    $(id).tHead.replaceChildren(element("tr", {}, ...columns.map(([title, isNumber]) =>
      element("th", {scope: "col", class: isNumber ? "number" : ""}, title))));
    $(id).tBodies[0].replaceChildren(...rows.map((cells) => element("tr", {}, ...cells.map((cell, i) =>
      element("td", {class: columns[i][1] ? "number" : ""}, cell)))));
  }

  function showHead() {
    const commands = [...new Set(sides.map((side) => data[side].command ?? "unknown program"))];
    $("programs").textContent = commands.join(" → ");
    document.title = `${commands.join(" → ")} – fp32shim diff`;
    $("version").textContent = data.version;
    $("warnings").hidden = data.warnings.length === 0;
    document.querySelector("#warnings > ul").append(...data.warnings.map((text) => element("li", {}, text)));
    fill("sides", [["Run"], ["Fingerprints", true], ["Lost", true], ["Not aligned", true], ["Calls without", true], ["Program"]],
         sides.map((side) => [side.toUpperCase(), ...["fingerprints", "lost", "unaligned", "without_fingerprint"].map((key) => count(data[side][key])),
                              breakable(data[side].command ?? "–")]));
    $("outcome").textContent = `${counted(data.aligned, "product")} aligned: ${count(data.same_bits)} with the same bits, ` +
      `${count(data.other_bits)} with other bits, ${count(data.beyond_bound)} beyond ${data.bound}.`;
  }

  function showProducts() {
    const products = [["first with other bits", data.first_other_bits], [`first beyond ${data.bound}`, data.first_beyond_bound],
                      ["largest difference", data.largest]].filter(([, product]) => product !== null);
    fill("products", [["Product"], ["Number", true], ["Difference", true], ["Function"], ["Size"], ["Where"], ["Ran at"], ["Library"]],
         products.map(([name, product]) => [name, number(product), difference(product.difference), both(product, "function"), size(product),
                                            breakable(both(product, "where")), both(product, "ran_at"), both(product, "provider")]));
    document.querySelector("[aria-labelledby=products-title]").hidden = products.length === 0;
  }

  function showTables() {
    fill("steps", [["Products"], ["Same bits", true], ["Median difference", true], ["Largest", true], ["At", true], ["Where"]],
         data.growth.map((step) => [`${count(step.first)} – ${count(step.last)}`, count(step.same_bits), difference(step.median),
                                    difference(step.largest.difference), step.largest.same_bits ? "" : number(step.largest),
                                    step.largest.same_bits ? "" : breakable(both(step.largest, "where"))]));
    fill("groups", [["Largest difference", true], ["Products", true], ["With other bits", true], ["First", true], ["Function"], ["Size"], ["Ran at"], ["Where"]],
         data.groups.map((group) => [difference(group.largest.difference), count(group.products), count(group.other_bits),
                                     group.first_other_bits === null ? "–" : number(group.first_other_bits), both(group.first, "function"),
                                     size(group.first), both(group.first, "ran_at"), breakable(both(group.first, "where"))]));
    $("more").hidden = data.more_groups === 0;
    $("more").textContent = `${counted(data.more_groups, "further group")} differ less and are not on this page; fp32shim diff --format json has all.`;
  }

  // --- The plot: differences are drawn on a logarithmic scale, so those of 0 have no point.

  let chart = null;
  function drawGrowth() {
    chart?.destroy();
    Chart.defaults.color = colour("muted");
    Chart.defaults.borderColor = colour("line");
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    const points = (key) => data.plot.map((step) => ({x: step.at, y: step[key] > 0 ? step[key] : null}));
    const line = (label, key, name, more = {}) => ({label, data: points(key), borderColor: colour(name), backgroundColor: colour(name),
                                                   borderWidth: 1.5, pointRadius: data.plot.length > 200 ? 0 : 2, spanGaps: false, ...more});
    const ends = [data.plot[0].at, data.plot.at(-1).at];
    $("growth-chart").setAttribute("aria-label", "Estimated relative difference by position: median and largest; the table below has it too.");
    chart = new Chart($("growth-chart"), {
      type: "line",
      data: {datasets: [line("largest", "largest", "more", {pointStyle: "triangle"}), line("median", "median", "less"),
                        {label: `bound ${data.bound}`, data: ends.map((x) => ({x, y: data.bound > 0 ? data.bound : null})), borderColor: colour("muted"),
                         borderWidth: 1, borderDash: [5, 4], pointRadius: 0}]},
      options: {
        animation: false, maintainAspectRatio: false, parsing: false, interaction: {mode: "index", intersect: false},
        scales: {x: {type: "linear", title: {display: true, text: "aligned product"}, min: 1, max: Math.max(2, data.aligned)},
                 y: {type: "logarithmic", title: {display: true, text: "estimated relative difference"},
                     ticks: {callback: (value) => /^1e/.test(value.toExponential()) ? value.toExponential(0) : ""}}},
        plugins: {tooltip: {callbacks: {title: (items) => `product ${count(items[0].parsed.x)}`,
                                        label: (item) => `${item.dataset.label}: ${difference(item.parsed.y)}`}}},
      },
    });
    const each = data.plot.length > 1 ? data.plot[1].at - data.plot[0].at : 1;
    $("growth-note").textContent = (each > 1 ? `Each point is of ${count(each)} products. ` : "") +
      "Products with the same bits have no point" + (data.infinite ? `; nor have ${counted(data.infinite, "infinite difference")}.` : ".");
  }

  showHead();
  showProducts();
  showTables();
  $("growth").hidden = data.aligned === 0;
  if (data.aligned === 0) return;
  drawGrowth();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawGrowth);
})();
