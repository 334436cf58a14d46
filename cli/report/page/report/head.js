// The top of the page: program, warnings and totals.
import {$, element, showNote} from "../shared/elements.js";
import {data, setUpPage, showWarnings} from "../shared/page.js";
import {
  baseName,
  count,
  counted,
  duration,
  flops,
  hostTime,
  momentText,
  nanoseconds,
} from "../shared/text.js";
import {showRefused} from "./filters.js";
import {totals} from "./view.js";

function listText({values, more}, separator = ", ") {
  const text = values.map((value) => value.text).join(separator);
  return text + (more ? ` and ${more} more` : "");
}

// Returns the command, without the folder of its program. If there are several commands, returns
// the names of their programs.
function titleText({Command: commands, Program: programs}) {
  const named = ({values}, nameOf) => [...new Set(values.map(({text}) => nameOf(text)))];
  const words = commands ? named(commands, (text) => text.replace(/^[^ ]*\//, "")) : [];
  if (words.length === 1 && !commands.more) return words[0];
  if (!programs) return "";
  const names = named(programs, baseName).map((text) => ({text}));
  return listText({values: names, more: programs.more});
}

function whenText(facts) {
  const {recordings, opened, last} = data.totals;
  const parts = [];
  if (facts.Host) parts.push(`on ${listText(facts.Host)}`);
  if (facts.Process) {
    parts.push(`${recordings === 1 ? "process" : "processes"} ${listText(facts.Process)}`);
  }
  parts.push(`from ${momentText(opened)}`);
  if (last) {
    const length = Math.max(nanoseconds(last) - nanoseconds(opened), 0);
    parts.push(`last call after ${duration(length)}`);
  }
  return parts.join(" · ");
}

function settingsText(facts) {
  const parts = [];
  const settings = facts["Settings at its start"];
  if (settings) parts.push(listText(settings, "; "));
  if (facts.Policy) {
    const policy = listText(facts.Policy, "; ");
    parts.push(`policy ${policy.replace(/(sha256 [0-9a-f]{12})[0-9a-f]+/g, "$1…")}`);
  }
  if (facts.fp32shim) parts.push(`fp32shim ${listText(facts.fp32shim)}`);
  return parts.join(" · ");
}

export function showHead() {
  const facts = Object.fromEntries(data.facts.map((fact) => [fact.name, fact]));
  const title = titleText(facts);
  setUpPage(title);
  $("programs").title = title;
  $("programs").classList.toggle("long", title.length > 60);
  const commands = facts.Command?.values ?? [];
  const command = commands.length === 1 ? commands[0].text : "";
  showNote("command", command !== title && command);
  $("when").textContent = whenText(facts);
  $("settings").textContent = settingsText(facts);
  $("filtered").hidden = !data.filtered;
}

function refusedButton() {
  const button = element("button", {type: "button"}, "Show them");
  button.addEventListener("click", () => {
    showRefused();
    $("decisions-title").scrollIntoView();
  });
  return button;
}

export function showAllWarnings() {
  showWarnings(
    data.warnings.map((warning) => [
      element("strong", {}, warning.title),
      warning.refused && refusedButton(),
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
    [`work${withoutWork}`, flops(work)],
    [noun(decisions, "distinct decision"), count(decisions)],
    [noun(recordings, "recording"), count(recordings)],
  ];
  $("totals").append(
    ...shown.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value)),
    ),
  );
}
