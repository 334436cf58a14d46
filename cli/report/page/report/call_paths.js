// The flame graph of a report, which shows call paths or scopes.

import {FlameGraph} from "../flame_graph/flame_graph.js";
import {$} from "../shared/elements.js";
import {data} from "../shared/page.js";
import {counted} from "../shared/text.js";

let graph = null;

function graphNoteText(kind, {folded, line}) {
  const isPaths = kind === "paths";
  const notes = [];
  if (isPaths) {
    notes.push(
      "Callers are on top; the last box is the function that multiplies. A click shows " +
        "only the calls below a box, here and in the rest of the page.",
    );
  } else {
    notes.push(
      "Scopes by their labels, split at / and at every dot; then the line of the program, if it " +
        "is known, and the function that multiplies.",
    );
  }
  if (folded) {
    notes.push(`${counted(folded, "further sum")} of calls found no room and count at a caller.`);
  }
  if (isPaths && !line.some((one) => one > 0)) {
    notes.push("Lines of Python need a recording with fp32shim run --where python.");
  }
  return [...notes, "Keys: arrows, Enter, Escape, / to find."].join(" ");
}

function openFlameGraph(onSelect) {
  graph?.close();
  const kind = $("paths-of").value;
  graph = new FlameGraph({columns: data[kind], sources: data.sources, onSelect});
  const folds = graph.folding.isPossible
    ? "Frames of a library are folded; a click opens them. "
    : "";
  $("paths-note").textContent = folds + graphNoteText(kind, data[kind]);
  graph.redraw();
}

export function redrawFlameGraph() {
  graph?.redraw();
}

// Sets up the flame graph. It calls `onSelect` with the calls below the box that the user chooses,
// or with null for all calls.
export function setUpFlameGraph(onSelect) {
  $("paths-levels").hidden = !data.scopes;
  if (data.scopes) $("paths-of").value = "scopes";
  $("paths-width").value = data.sort;
  $("paths-of").addEventListener("change", () => {
    openFlameGraph(onSelect);
    onSelect(null);
  });
  $("selected")
    .querySelector("button")
    .addEventListener("click", () => graph.select(0));
  if (data.totals.calls > 0) openFlameGraph(onSelect);
}
