// Sets up the filters of the table of decisions, and shows a summary of the selected decisions.
import {$, element, showNote} from "../shared/elements.js";
import {data} from "../shared/page.js";
import {count, counted, durationText, isOrAre, wordsOf} from "../shared/text.js";
import {hasSpread, isEstimated, rest, singleDecisions, sumOf} from "./decisions.js";
import {chosenGrouping} from "./groups.js";
import {setUpTable, showEntries} from "./table.js";
import {entries, forgetRowElements, view} from "./view.js";

// Returns the text with × between sizes, so that 128x512 and 128×512 are the same word.
const withTimes = (text) => text.replace(/(?<=[\d?])\s*[x×*]\s*(?=[\d?]|$)|^[x×*](?=\d)/g, "×");

// Returns the words that a row must contain, each as a list of spellings.
function searchedWords() {
  const text = $("filter-text").value.replace(/(\d)\s+[x×*]\s+(?=\d)/gi, "$1x");
  return wordsOf(text).map((word) => [word, withTimes(word)]);
}

// Returns a function that tells if a row has the format and the function that the user chose. If
// the user chose to see only what did not run as requested, the row must also be of this kind.
function chosenFactsFilter() {
  const format = $("filter-applied").value;
  const name = $("filter-function").value;
  const isRefused = $("filter-refused").checked;
  return (row) =>
    (!format || row.format === format) &&
    (!name || row.function === name) &&
    (!isRefused || row.refused);
}

// --- Summary of the selection

const sumText = (sums) =>
  `${counted(sums.decisions, "further decision")} (${counted(sums.calls, "call")}`;

// Returns notes about `uncertain`, the sum of decisions that may or may not match the filters
// because the page does not have all of their facts, and about decisions that the page lacks.
function uncertainNotes(uncertain) {
  const notes = [];
  if (uncertain.decisions) {
    const facts =
      uncertain.decisions === 1
        ? "its size, call site, scope and rule"
        : "their sizes, call sites, scopes and rules";
    notes.push(
      `Not certain: ${sumText(uncertain)}) ${isOrAre(uncertain.decisions)} summed up, ` +
        `and this page does not know ${facts}.`,
    );
  }
  if (rest.decisions && !view.name) {
    notes.push(
      `${sumText(rest)}, ${durationText(rest.host_ns)}) are not on this page; ` +
        "no filter finds them.",
    );
  }
  if (uncertain.decisions || rest.decisions) {
    notes.push("fp32shim report --format csv has all, one by one.");
  }
  return notes;
}

function selectionNotes(chosen, uncertain) {
  const notes = [];
  if (view.other?.calls) {
    const {calls, host_ns} = view.other;
    notes.push(
      `${counted(calls, "call")} of this path (${durationText(host_ns)}) belong to decisions ` +
        "that are not listed one by one.",
    );
  }
  const summed = sumOf(chosen, (row) => (row.isGroup ? row.decisions : 0));
  if (summed && !chosenGrouping().any) {
    notes.push(
      `${counted(summed, "decision")} of them ${isOrAre(summed)} not listed one by one, ` +
        "but summed up by function and size.",
    );
  }
  return [...notes, ...uncertainNotes(uncertain)];
}

function showSelectionSummary(chosen, uncertain) {
  const decisions = count(sumOf(chosen, (row) => row.decisions));
  const all = counted(view.totals.decisions, "decision");
  const calls = counted(
    sumOf(chosen, (row) => row.calls),
    "call",
  );
  const time = durationText(sumOf(chosen, (row) => row.host_ns));
  $("shown").textContent =
    `Showing ${decisions} of ${all}${view.name && " of this call path"}: ` +
    `${calls}, ${time} host time.`;
  showNote("answer-note", selectionNotes(chosen, uncertain).join(" "));
  const isIncomplete = uncertain.decisions > 0 || rest.decisions > 0;
  $("answer-note").classList.toggle("warning", isIncomplete);
}

// --- Filtering

export function filterRows() {
  const words = searchedWords();
  const hasFacts = chosenFactsFilter();
  const uncertain = {decisions: 0, calls: 0};
  const chosen = view.entries.filter(({row, text}) => {
    if (!hasFacts(row)) return false;
    if (words.every((spellings) => spellings.some((word) => text.includes(word)))) return true;
    if (row.isGroup) {
      uncertain.decisions += row.decisions;
      uncertain.calls += row.calls;
    }
    return false;
  });
  showEntries(chosen);
  showSelectionSummary(chosen, uncertain);
}

export function showOnlyRefused() {
  $("filters").reset();
  $("filter-refused").checked = true;
  filterRows();
}

// --- Choices

function addOptions(id, values) {
  $(id).append(...values.map((value) => element("option", {value}, value)));
}

// Removes those groupings that the page has no data for from the list of choices. The choice at
// first is the grouping that `--by` asked for.
function setUpGrouping() {
  const choice = $("filter-by");
  for (const key of ["where", "scope", "caller"]) {
    if (!singleDecisions.some((row) => row[key])) choice.querySelector(`[value=${key}]`).remove();
  }
  const keys = ["where", "scope", "caller", "function", "size", "precision"];
  const asked = keys.filter((key) => data.by[key]);
  const value = asked.join(" ");
  if (![...choice.options].some((option) => option.value === value)) {
    choice.append(element("option", {value}, `by ${asked.join(", ")}`));
  }
  choice.value = value;
  for (const option of choice.options) option.defaultSelected = option.selected;
}

export function setUpFilters() {
  const functions = entries.map(({row}) => row.function).filter(Boolean);
  addOptions(
    "filter-applied",
    view.formats.map(({format}) => format),
  );
  addOptions("filter-function", [...new Set(functions)].sort());
  setUpGrouping();
  for (const event of ["input", "change"]) {
    $("filters").addEventListener(event, ({target}) => {
      if (target.id === "filter-by") forgetRowElements();
      filterRows();
    });
  }
  $("filters").addEventListener("reset", () => setTimeout(filterRows));
  $("estimated").hidden = !entries.some(({row}) => isEstimated(row));
  $("spread").hidden = !entries.some(({row}) => hasSpread(row));
  setUpTable();
  filterRows();
}
