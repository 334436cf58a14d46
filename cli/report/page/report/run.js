// Shows facts about the run: its processes, and changes of settings.
import {$, element, secondary} from "../shared/elements.js";
import {data} from "../shared/page.js";
import {fillTable, numberColumn, tableOf, textColumn} from "../shared/tables.js";
import {baseName, count, counted, momentText} from "../shared/text.js";

// Returns the elements of a fact. A value that holds for some recordings only is shown with the
// number of these recordings.
function factElements({name, values, more}) {
  const isEach = values.every(({recordings}) => recordings === 1);
  const isOfAll = values.length === 1 && !more && values[0].recordings === data.totals.recordings;
  const shown = values.map(({text, recordings}) =>
    element("dd", {}, text, !isEach && !isOfAll && secondary(counted(recordings, "recording"))),
  );
  if (more) shown.push(element("dd", {}, `and ${count(more)} more`));
  return [element("dt", {}, name), ...shown];
}

function showProcesses() {
  const {recordings} = data.totals;
  $("processes").hidden = recordings < 2;
  $("processes").querySelector("summary").textContent = counted(recordings, "recording");
  const fact = (title, key) => textColumn(title, (process) => String(process[key] ?? "–"));
  const columns = [
    fact("Host", "host"),
    fact("Process", "pid"),
    fact("Rank", "rank"),
    textColumn("Program", ({executable}) => baseName(executable ?? "–")),
    textColumn("Began", ({opened}) => momentText(opened)),
    fact("State", "state"),
    numberColumn("Calls", ({calls}) => count(calls)),
    fact("Recording", "recording"),
  ];
  fillTable(tableOf("processes"), columns, data.processes, recordings - data.processes.length);
}

export function showRunFacts() {
  $("facts").append(...data.facts.flatMap(factElements));
  showProcesses();
}

function changeOutcomeText({done, message}) {
  return (done ? "done" : "refused") + (message ? `: ${message}` : "");
}

export function showSettingChanges() {
  const {list, more} = data.changes;
  $("changes").hidden = list.length === 0;
  const columns = [
    textColumn("Time (UTC)", ({time}) => time.replace("T", " ").replace("Z", "")),
    textColumn("Process", ({process}) => process),
    textColumn("Change", ({change}) => change),
    textColumn("By", ({by}) => by),
    textColumn("Outcome", changeOutcomeText),
  ];
  fillTable(tableOf("changes"), columns, list, more);
}
