// The table of both sides and of the change between them.
import {$, breakable, element, second} from "../shared/elements.js";
import {swatch} from "../shared/formats.js";
import {data} from "../shared/page.js";
import {fillTable, numberColumn, textColumn} from "../shared/tables.js";
import {count, flops, hostTime, percent} from "../shared/text.js";

export const sides = ["before", "after"];
export const programs = () => [...new Set(sides.map((side) => data[side].program))];

// Returns a change as text: `−12.3 %`, `new` or `gone`.
export function changeText(before, after) {
  if (before === after) return "–";
  if (before === 0) return "new";
  if (after === 0) return "gone";
  const share = (100 * (after - before)) / before;
  const size = Math.abs(share);
  return `${share < 0 ? "−" : "+"}${size.toFixed(size < 10 ? 1 : 0)} %`;
}

// Returns the formats at which calls ran. If there are several, each is shown with its share.
export function formatCells(formats, calls) {
  return formats.flatMap((one) => {
    const words = formats.length === 1 ? one.format : `${one.format} ${percent(one.calls, calls)}`;
    return [element("span", {class: "format"}, swatch(one.format), words), " "];
  });
}

export function showSides() {
  const {before, after} = data;
  const row = (name, side) => ({
    name,
    calls: count(side.calls),
    host_ns: hostTime(side.host_ns, side.estimated),
    work: flops(side.work),
    formats: formatCells(side.formats, side.calls),
    program: [breakable(side.program), second(side.when)],
  });
  const keys = ["calls", "host_ns", "work"];
  const changes = keys.map((key) => [key, changeText(before[key], after[key])]);
  const change = {name: "change", ...Object.fromEntries(changes)};
  const columns = [
    textColumn("Side", ({name}) => name, {isRowHead: true}),
    numberColumn("Calls", ({calls}) => calls),
    numberColumn("Host time", ({host_ns}) => host_ns),
    numberColumn("Work", ({work}) => work),
    textColumn("Ran at", ({formats}) => formats),
    textColumn("Program", ({program}) => program),
  ];
  fillTable($("sides"), columns, [row("before", before), row("after", after), change]);
}
