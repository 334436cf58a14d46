// Draws call paths as rows of boxes, with callers above the functions that they call. The width of
// a box is its share of the chosen quantity: host time, calls or operations.
import {$, element} from "../shared/elements.js";
import {counted, percentText, quantities} from "../shared/text.js";
import {BoxPainter} from "./box_colours.js";
import {layOutBoxes} from "./box_layout.js";
import {formatShareElements, tooltipElements} from "./box_tip.js";
import {FoldablePaths} from "./folding.js";
import {listenToKeys} from "./keys.js";
import {PathSummary} from "./path_sums.js";
import {PathTree} from "./path_tree.js";
import {searchPaths} from "./search.js";
import {selectCallsBelow} from "./selection.js";

const rowHeight = 20; // pixels

export class FlameGraph {
  // When the user chooses a box, the graph passes the calls below this box to the function
  // `onSelect`. It passes null if the box is the root, which stands for all calls.
  constructor({columns, sources, onSelect}) {
    this.graph = $("paths-graph");
    this.tip = $("paths-tip");
    this.folding = new FoldablePaths(columns);
    this.makeTree = (folded) => new PathTree(folded, sources);
    this.tree = this.makeTree(this.folding.foldedTree());
    this.onSelect = onSelect;
    this.zoomNode = 0; // the graph shows only this node, its callers and all nodes below it
    this.current = 0;
    this.boxes = new Map(); // elements by node
    this.matches = null;
    this.sumUp();
    this.listen();
  }

  sumUp() {
    this.key = $("paths-width").value;
    this.sums = new PathSummary(this.tree, this.key);
  }

  listen() {
    this.listening = new AbortController();
    const on = (target, event, listener) =>
      target?.addEventListener(event, listener, {signal: this.listening.signal});
    on(this.graph, "click", (event) => this.click(event));
    on(this.graph, "mousemove", (event) => this.hover(event));
    on(this.graph, "mouseleave", () => this.hideTip());
    on(this.graph, "blur", () => this.hideTip());
    on($("paths-search"), "input", () => this.find());
    on($("paths-width"), "change", () => {
      this.sumUp();
      this.find();
    });
    $("paths-fold").parentElement.hidden = !this.folding.isPossible;
    $("paths-fold").checked = true;
    on($("paths-fold"), "change", () => this.foldAll($("paths-fold").checked));
    listenToKeys(this, on);
  }

  close() {
    this.listening.abort();
  }

  // Draws the tree again after a region of library frames was folded or unfolded. The frame at
  // which the graph is zoomed in and the frame of the current box stay the same.
  refold() {
    const {originals} = this.tree.columns;
    const [zoomNode, current] = [originals[this.zoomNode], originals[this.current]];
    this.tree = this.makeTree(this.folding.foldedTree());
    const {nodeOf} = this.tree.columns;
    this.zoomNode = nodeOf[zoomNode];
    this.current = nodeOf[current];
    this.sumUp();
    if (zoomNode !== 0) this.select(this.zoomNode);
    this.redraw();
  }

  // Shows the frames of a folded node.
  unfold(node) {
    for (const top of this.tree.columns.tops.get(node)) this.folding.opened.add(top);
    this.refold();
  }

  foldAll(isFolded) {
    if (isFolded) this.folding.closeAll();
    else this.folding.openAll();
    this.refold();
  }

  redraw() {
    this.hideTip();
    this.find();
  }

  // --- Boxes

  draw() {
    this.colours = new BoxPainter(this.sums);
    this.boxes = new Map();
    const layout = layOutBoxes(this.sums, this.zoomNode, this.graph.clientWidth);
    const drawn = layout.map((box) => this.boxElement(box));
    const canvas = element("div", {class: "boxes", role: "presentation"}, ...drawn);
    const lastRow = layout.reduce((row, box) => Math.max(row, box.row), 0);
    canvas.style.height = `${(lastRow + 1) * rowHeight}px`;
    this.graph.replaceChildren(canvas);
    if (!this.boxes.has(this.current)) this.current = this.zoomNode;
    this.makeCurrent(this.current);
    this.showLegend();
  }

  boxElement(box) {
    const result = box.node === undefined ? this.narrowBox(box.count) : this.pathBox(box);
    result.style.left = `${box.left}px`;
    result.style.top = `${box.row * rowHeight}px`;
    result.style.width = `${Math.max(box.width - 1, 1)}px`;
    return result;
  }

  pathBox({node, left, width, row}) {
    const words = node === 0 ? "all calls" : this.tree.label(node);
    const amount = quantities[this.key](this.sums.all[node]);
    const share = percentText(this.sums.all[node], this.sums.all[0]);
    const result = element(
      "div",
      {
        class: "box",
        id: `path-${node}`,
        role: "treeitem",
        "aria-level": String(this.tree.depth[node] + 1),
        "aria-label": `${words}: ${amount}, ${share}`,
      },
      ...this.colours.hatches(node),
      width > 24 && words,
    );
    if (this.tree.frames(node)) {
      result.classList.add("folded");
      result.setAttribute("aria-expanded", "false");
    }
    if (row < this.tree.depth[this.zoomNode]) result.classList.add("caller");
    if (this.matches) result.classList.add(this.matchClass(node));
    if (node === this.current) result.classList.add("current");
    result.style.background = this.colours.background(node);
    this.boxes.set(node, {element: result, left, row});
    return result;
  }

  matchClass(node) {
    if (this.matches.isMatch[node]) return "hit";
    return this.matches.hasMatchBelow[node] ? "path" : "miss";
  }

  // Returns a box that stands for nodes too narrow to draw.
  narrowBox(count) {
    const title =
      `${counted(count, "call path")} too narrow to draw; ` +
      "a click on the box above has room for more";
    return element("div", {class: "box narrow-ones", title});
  }

  showLegend() {
    $("paths-legend").replaceChildren(...formatShareElements(this.sums, this.zoomNode));
  }

  // --- The current box and its tooltip

  showTip(node) {
    const {left, row} = this.boxes.get(node);
    this.tip.replaceChildren(...tooltipElements(this.sums, this.key, node, this.zoomNode));
    this.tip.hidden = false;
    const area = this.graph.getBoundingClientRect();
    const above = area.top - $("paths").getBoundingClientRect().top - this.graph.scrollTop;
    const most = area.width - this.tip.offsetWidth - 4;
    this.tip.style.top = `${above + (row + 1) * rowHeight + 6}px`;
    this.tip.style.left = `${Math.max(0, Math.min(left, most))}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  makeCurrent(node) {
    const before = this.boxes.get(this.current)?.element;
    before?.classList.remove("current");
    before?.removeAttribute("aria-selected");
    this.current = node;
    const {element: box} = this.boxes.get(node);
    box.classList.add("current");
    box.setAttribute("aria-selected", "true");
    this.graph.setAttribute("aria-activedescendant", box.id);
  }

  // Makes the box of `node`, to which the user moved with the keyboard, the current box.
  moveTo(node) {
    this.makeCurrent(node);
    this.boxes.get(node).element.scrollIntoView({block: "nearest"});
    this.showTip(node);
  }

  // --- Mouse, selection and search

  nodeAt(event) {
    const found = event.target.closest?.(".box[role=treeitem]");
    return found ? Number(found.id.slice("path-".length)) : undefined;
  }

  click(event) {
    const node = this.nodeAt(event);
    if (node === undefined) return;
    if (this.tree.frames(node)) this.unfold(node);
    else this.select(node === this.zoomNode && node !== 0 ? this.tree.parent(node) : node);
  }

  hover(event) {
    const node = this.nodeAt(event);
    if (node === undefined) this.hideTip();
    else this.showTip(node);
  }

  select(node) {
    this.zoomNode = this.current = node;
    this.hideTip();
    this.draw();
    this.onSelect(node === 0 ? null : selectCallsBelow(this.tree, node));
  }

  // Marks the boxes that match the words of the search. Opens all folded nodes first, since every
  // frame is searched.
  find() {
    if ($("paths-search").value.trim() && this.folding.isPossible && $("paths-fold").checked) {
      $("paths-fold").checked = false;
      this.foldAll(false);
      return;
    }
    this.matches = searchPaths(this.tree, this.sums, $("paths-search").value);
    $("paths-answer").textContent = this.matches ? this.answerText(this.matches) : "";
    this.draw();
  }

  answerText({count, sum}) {
    if (count === 0) return "Nothing found.";
    const share = percentText(sum, this.sums.all[0]);
    return `${counted(count, "place")} found: ${share} of all, ${quantities[this.key](sum)}.`;
  }
}
