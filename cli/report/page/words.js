// Words, numbers and elements of pages. Names in their data are anybody's: they become text, never markup.
"use strict";
const pageWords = (() => {
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
  // Rounding never turns a few into none, nor nearly all into all.
  function percent(part, whole) {
    const share = 100 * part / whole;
    if (!(whole > 0)) return "";
    if (part > 0 && share < 0.05) return "<0.1 %";
    if (part < whole && share >= 99.95) return ">99.9 %";
    return `${share.toFixed(1)} %`;
  }

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

  const shapes = JSON.parse(document.getElementById("number-formats").textContent);  // of points, by format
  const formats = Object.keys(shapes);  // from the most exact to the loosest
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  return {three, count, counted, duration, prefixed, flops, percent, element, second, swatch, breakable, colour, formats, shapes};
})();
