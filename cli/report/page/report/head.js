// Shows the top of the page: the program, warnings and totals.
import {$, element, showNote} from "../shared/elements.js";
import {data, setUpPage, showWarnings} from "../shared/page.js";
import {
  baseName,
  count,
  counted,
  durationText,
  flopText,
  hostTime,
  momentText,
  nanosecondsSince1970,
} from "../shared/text.js";
import {showOnlyRefused} from "./filters.js";
import {totals} from "./view.js";

function joinedValuesText({values, more}, separator = ", ") {
  const text = values.map((value) => value.text).join(separator);
  return text + (more ? ` and ${more} more` : "");
}

// Returns the page's title: the command without the folder of its program, or, if there are several
// commands, the names of their programs.
function titleText({Command: commands, Program: programs}) {
  const named = ({values}, nameOf) => [...new Set(values.map(({text}) => nameOf(text)))];
  const words = commands ? named(commands, (text) => text.replace(/^[^ ]*\//, "")) : [];
  if (words.length === 1 && !commands.more) return words[0];
  if (!programs) return "";
  const names = named(programs, baseName).map((text) => ({text}));
  return joinedValuesText({values: names, more: programs.more});
}

function runOriginText(facts) {
  const {recordings, opened, last} = data.totals;
  const parts = [];
  if (facts.Host) parts.push(`on ${joinedValuesText(facts.Host)}`);
  if (facts.Process) {
    parts.push(`${recordings === 1 ? "process" : "processes"} ${joinedValuesText(facts.Process)}`);
  }
  parts.push(`from ${momentText(opened)}`);
  if (last) {
    const length = Math.max(nanosecondsSince1970(last) - nanosecondsSince1970(opened), 0);
    parts.push(`last call after ${durationText(length)}`);
  }
  return parts.join(" · ");
}

function settingsText(facts) {
  const parts = [];
  const settings = facts["Settings at its start"];
  if (settings) parts.push(joinedValuesText(settings, "; "));
  if (facts.Policy) {
    const policy = joinedValuesText(facts.Policy, "; ");
    parts.push(`policy ${policy.replace(/(sha256 [0-9a-f]{12})[0-9a-f]+/g, "$1…")}`);
  }
  if (facts.fp32shim) parts.push(`fp32shim ${joinedValuesText(facts.fp32shim)}`);
  return parts.join(" · ");
}

export function showPageHead() {
  const facts = Object.fromEntries(data.facts.map((fact) => [fact.name, fact]));
  const title = titleText(facts);
  setUpPage(title);
  $("programs").title = title;
  $("programs").classList.toggle("long", title.length > 60);
  const commands = facts.Command?.values ?? [];
  const command = commands.length === 1 ? commands[0].text : "";
  showNote("command", command !== title && command);
  $("when").textContent = runOriginText(facts);
  $("settings").textContent = settingsText(facts);
  $("filtered").hidden = !data.filtered;
}

function makeRefusedButton() {
  const button = element("button", {type: "button"}, "Show them");
  button.addEventListener("click", () => {
    showOnlyRefused();
    $("decisions-title").scrollIntoView();
  });
  return button;
}

export function showAllWarnings() {
  showWarnings(
    data.warnings.map((warning) => [
      element("strong", {}, warning.title),
      warning.refused && makeRefusedButton(),
      element("ul", {}, ...warning.lines.map((line) => element("li", {}, line))),
    ]),
  );
  $("complete").hidden = data.warnings.length > 0 || data.totals.calls === 0 || data.filtered;
}

export function showTotals() {
  const {calls, host_ns, estimated, work, calls_without_flops, decisions, recordings} = totals;
  const noun = (value, words) => (value === 1 ? words : `${words}s`);
  const withoutWork = calls_without_flops
    ? `, without ${counted(calls_without_flops, "call")} of unknown work`
    : "";
  const shown = [
    [noun(calls, "call"), count(calls)],
    ["host time", hostTime(host_ns, estimated)],
    [`work${withoutWork}`, flopText(work)],
    [noun(decisions, "distinct decision"), count(decisions)],
    [noun(recordings, "recording"), count(recordings)],
  ];
  $("totals").append(
    ...shown.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value)),
    ),
  );
}
