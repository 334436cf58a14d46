// Draws the page of `fp32shim report --diff`.

import {FlameGraph} from "../flame_graph/flame_graph.js";
import {$, showNote} from "../shared/elements.js";
import {data, redrawOnChange, setUpPage, showWarnings} from "../shared/page.js";
import {counted} from "../shared/text.js";
import {showAllGroups, showGroups, showGroupsBelow} from "./groups.js";
import {programs, showSides} from "./sides.js";

function showNotes() {
  $("filtered").hidden = !data.filtered;
  showNote(
    "changed-files",
    data.changed_files.length > 0 &&
      "Compared without lines or offsets, because calls of the same functions are at " +
        "different ones: " +
        data.changed_files.join(", "),
  );
  showNote(
    "more",
    data.more > 0 &&
      `${counted(data.more, "further group")} changed less and are ` +
        "not on this page; fp32shim report --diff --format csv has all.",
  );
  if (data.paths.folded) {
    const sums = counted(data.paths.folded, "further sum");
    $("paths-note").append(` ${sums} of calls found no room and count at a caller.`);
  }
}

// Shows only the calls below a box, given by their sums on each side. Null shows all calls.
function showSelection(before, after) {
  $("selected").hidden = before === null;
  if (before === null) {
    showAllGroups();
    return;
  }
  const others = before.other.calls + after.other.calls;
  $("selected").querySelector("span").textContent =
    `Only calls below ${before.name}` +
    (others ? `; ${counted(others, "call")} of them belong to groups that are not listed` : "");
  showGroupsBelow(before, after);
}

function setUpGraph() {
  $("paths").hidden = data.before.calls + data.after.calls === 0;
  if ($("paths").hidden) return;
  $("paths-width").value = data.sort;
  const {paths: columns, sources} = data;
  const graph = new FlameGraph({columns, sources, isComparison: true, onSelect: showSelection});
  $("selected")
    .querySelector("button")
    .addEventListener("click", () => graph.showAll());
  graph.redraw();
  redrawOnChange(() => graph.redraw());
}

setUpPage(programs().join(" → "));
showWarnings(data.warnings.map((text) => [text]));
showSides();
showNotes();
for (const event of ["input", "change"]) $("filters").addEventListener(event, showGroups);
showGroups();
setUpGraph();
