// Converts numbers and quantities to text.

const number = new Intl.NumberFormat("en-US");
export const threeDigits = (value) => String(Number(value.toPrecision(3)));
export const count = (value) => number.format(value);
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
export const isOrAre = (value) => (value === 1 ? "is" : "are");

export function durationText(ns) {
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  if (ns < 999.5e3) return `${threeDigits(ns / 1e3)} µs`;
  if (ns < 999.5e6) return `${threeDigits(ns / 1e6)} ms`;
  if (ns < 119.5e9) return `${threeDigits(ns / 1e9)} s`;
  const minutes = Math.round(ns / 60e9);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

// Converts a time in the page's data to nanoseconds since 1970, exact to about 256 ns.
export function nanosecondsSince1970(time) {
  const second = time.slice(0, 19);
  return Date.parse(`${second}Z`) * 1e6 + Number(time.slice(20, 29));
}
// Converts a time in the page's data to text: `2026-11-21 08:42:00 UTC`.
export const momentText = (time) => `${time.slice(0, 19).replace("T", " ")} UTC`;

export const hostTime = (ns, isEstimate) => (isEstimate ? "≈ " : "") + durationText(ns);

// Returns a number with three digits and an SI prefix: `1.5 G` for 1.5e9.
export function withSiPrefix(value) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  const power = Math.floor(Math.log10(value) / 3 + 1e-9);
  const index = value < 1 ? 0 : Math.min(power, prefixes.length - 1);
  return `${threeDigits(value / 1000 ** index)} ${prefixes[index]}`.trimEnd();
}
export function flopText(value) {
  if (!(value > 0)) return "–";
  const text = withSiPrefix(value);
  return `${text}${/[A-Z]$/i.test(text) ? "" : " "}flop`;
}

// Returns `part` of `whole` as a percentage; empty if `whole` is 0. A small part above 0 is shown
// as <0.1 %, not as 0 %, and a part just below the whole as >99.9 %, not as 100 %.
export function percentText(part, whole) {
  const share = (100 * part) / whole;
  if (!(whole > 0)) return "";
  if (part > 0 && share < 0.05) return "<0.1 %";
  if (part < whole && share >= 99.95) return ">99.9 %";
  return `${share.toFixed(1)} %`;
}

// The functions that convert a quantity of calls to text, by the quantity's name in the data.
export const quantities = {
  host_ns: durationText,
  calls: (value) => counted(value, "call"),
  work: flopText,
};

export const sum = (list, value) => list.reduce((total, one) => total + value(one), 0);
export const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
export const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);
