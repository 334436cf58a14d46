// Defines the keys of the flame graph: arrows, Enter and Escape move through it; / moves to the
// search.
import {$} from "../shared/elements.js";

// Returns the node whose box is `step` boxes to the right of the current box in the same row, or
// the current node if there is no such box.
function nodeBesideCurrent({boxes, current}, step) {
  const {row} = boxes.get(current);
  const nodes = [...boxes]
    .filter(([, box]) => box.row === row)
    .sort(([, a], [, b]) => a.left - b.left)
    .map(([node]) => node);
  return nodes[nodes.indexOf(current) + step] ?? current;
}

// Returns the node with the widest box below the current box, or the current node if there is none.
function nodeBelowCurrent({boxes, current, sums}) {
  return sums.childrenFrom(current, 0).find((node) => boxes.has(node)) ?? current;
}

const actions = {
  ArrowUp: (graph) => graph.moveTo(graph.current === 0 ? 0 : graph.tree.parent(graph.current)),
  ArrowDown: (graph) => graph.moveTo(nodeBelowCurrent(graph)),
  ArrowLeft: (graph) => graph.moveTo(nodeBesideCurrent(graph, -1)),
  ArrowRight: (graph) => graph.moveTo(nodeBesideCurrent(graph, 1)),
  Home: (graph) => graph.moveTo(0),
  Enter: (graph) => {
    if (graph.tree.frames(graph.current)) graph.unfold(graph.current);
    else graph.select(graph.current);
    graph.moveTo(graph.current);
  },
  Escape: (graph) => graph.select(0),
};

const hasModifier = (event) => event.ctrlKey || event.metaKey || event.altKey;
const isTyping = (event) => /^(input|select|textarea)$/i.test(event.target.tagName ?? "");

// Makes the graph react to keys. Each listener is added by a call of `on`, which takes a target,
// the name of an event, and the listener.
export function listenToKeys(graph, on) {
  on(graph.graph, "keydown", (event) => {
    if (!actions[event.key] || hasModifier(event)) return;
    event.preventDefault();
    actions[event.key](graph);
  });
  on(document, "keydown", (event) => {
    if (event.key !== "/" || isTyping(event) || hasModifier(event)) return;
    event.preventDefault();
    $("paths-search").focus();
  });
  on($("paths-search"), "keydown", (event) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    if (event.key === "Escape") $("paths-search").value = "";
    graph.find();
    graph.graph.focus();
  });
}
