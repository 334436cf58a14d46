// Writes the first lines of the page: which calls ran below FP32, where, and where the time went.
// Each sentence holds for the recorded calls only.
import {$, breakableName, element} from "../shared/elements.js";
import {swatch} from "../shared/formats.js";
import {data} from "../shared/page.js";
import {count, counted, percentText} from "../shared/text.js";
import {totals} from "./view.js";

const {verdict} = data;
const {below} = verdict;
const callNoun = data.filtered ? "selected call" : "recorded call";

// Returns the verb for calls below FP32. Calls whose library does not say at which format they ran
// may have run at a more exact format.
function belowFp32Verb() {
  if (below.allowed === 0) return "ran below FP32";
  if (below.allowed < below.calls) return "ran below FP32, or were allowed to";
  return `${below.calls === 1 ? "was" : "were"} allowed to run below FP32`;
}

const quantityNames = {work: "work", host_ns: "host time", calls: "calls"};

function shareText(key, part, whole) {
  const isEstimate = key === "host_ns" && totals.estimated;
  return (isEstimate ? "≈ " : "") + percentText(part[key], whole[key]);
}

function headlineText() {
  const {calls} = totals;
  const others = verdict.unknown + verdict.narrower;
  if (calls === 0) return data.filtered ? "The filters select no call" : "No calls were recorded";
  if (below.calls === calls) {
    const all = calls === 1 ? `The ${callNoun}` : `All ${counted(calls, callNoun)}`;
    return `${all} ${belowFp32Verb()}`;
  }
  if (below.calls > 0) {
    const key = verdict.measure;
    const share = `${shareText(key, below, totals)} of the ${quantityNames[key]}`;
    const least = verdict.unknown ? "At least " : "";
    const some = `${least}${count(below.calls)} of ${counted(calls, callNoun)}`;
    return `${some}, with ${share}, ${belowFp32Verb()}`;
  }
  if (verdict.unknown === calls) return `The precision of ${counted(calls, callNoun)} is not known`;
  if (others === calls) return "No call of known precision was recorded";
  const known = calls - others;
  const precision = others ? " of known precision" : "";
  if (known === 1) return `The ${callNoun}${precision} did not run below FP32`;
  return `None of ${counted(known, callNoun)}${precision} ran below FP32`;
}

// --- The lines below the headline

const line = (...content) => element("p", {}, ...content);

function previewText() {
  const {previewed, calls} = below;
  if (previewed === 0) return "";
  const [are, previews] = previewed === 1 ? ["is", "a preview"] : ["are", "previews"];
  const some = previewed < calls ? `${count(previewed)} of them` : calls === 1 ? "It" : "They";
  return ` ${some} ${are} ${previews}, imitated on the CPU.`;
}

function lowFormatsLine() {
  const parts = below.formats.flatMap(({format, calls}, i) => [
    i > 0 && ", ",
    element("span", {class: "format"}, swatch(format), `${format}: ${counted(calls, "call")}`),
  ]);
  return line(...parts, `.${previewText()}`);
}

// Returns the end of a sentence about a place: `at train.py:41 Model.forward`.
function placeElements({kind, text}) {
  if (kind === "unknown") return ["at places that are not recorded"];
  const preposition = {where: "at ", scope: "in scope ", caller: "from "}[kind];
  return [preposition, element("strong", {}, breakableName(text))];
}

// Returns a line that says that `place` has the largest part of a quantity; null if it has none.
// `key` is the quantity. `whole` has the sums of all calls that count, and `words` names them.
function largestPlaceLine(key, words, place, whole) {
  if (!place || !(place[key] > 0)) return null;
  const isAll = place[key] === whole[key];
  const part = 2 * place[key] > whole[key] ? "Most" : "The largest part";
  const share = ` (${shareText(key, place, whole)})`;
  const begin = isAll ? `All of ${words}` : `${part} of ${words}${share}`;
  return line(`${begin} is `, ...placeElements(place), ".");
}

function unknownFormatsLine() {
  const parts = [
    verdict.unknown > 0 && `The precision of ${counted(verdict.unknown, "call")} is not known.`,
    verdict.narrower > 0 &&
      `The operands of ${counted(verdict.narrower, "call")} are narrower than float32.`,
    verdict.adds_in_fp16 > 0 && `${counted(verdict.adds_in_fp16, "half product")} may add in FP16.`,
  ].filter(Boolean);
  return parts.length > 0 && line(parts.join(" "));
}

function float64Line() {
  const {calls, rounded} = verdict.float64;
  if (calls === 0) return null;
  const are = calls === 1 ? "is" : "are";
  const some = calls === 1 ? "Its" : `${count(rounded)} of them had`;
  const how = calls === 1 ? "operands were rounded" : "operands rounded";
  const rest = rounded > 0 ? ` ${some} ${how} to float32 or a narrower format.` : "";
  return line(`${counted(calls, callNoun)} ${are} of float64.${rest}`);
}

export function showVerdict() {
  $("verdict-title").textContent = headlineText();
  const key = verdict.measure;
  const lines = [
    below.calls > 0 && lowFormatsLine(),
    largestPlaceLine(key, `their ${quantityNames[key]}`, below.place, below),
    largestPlaceLine("host_ns", "the host time", verdict.busiest, totals),
    float64Line(),
    unknownFormatsLine(),
  ].filter(Boolean);
  $("verdict-title").after(...lines);
}
