// Draws call paths as rows of boxes, the callers on top: a box is as wide as its share. Only what is wider than a pixel is
// drawn, so a tree may have a million nodes. A comparison has the calls before and after: a box is as wide as those of the
// side that is chosen, and has the colour of more or less.
"use strict";
const flameGraph = ({tree, sources, amount, isComparison = false, onSelect}) => {
  const $ = (id) => document.getElementById(id);
  const {colour, counted, percent, element, swatch, formats} = pageWords;
  const graph = $("paths-graph"), tip = $("paths-tip");
  const rowHeight = 20, leastWidth = 1.5;  // pixels

  const size = tree.parent.length;
  const formatOf = tree.format.map((place) => formats.indexOf(formats.includes(tree.texts[place]) ? tree.texts[place] : "unknown"));
  const name = (node) => node === 0 ? "all" : tree.texts[tree.name[node]];
  const file = (node) => tree.texts[tree.file[node]];
  const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);
  const place = (node) => tree.line[node] ? `${baseName(file(node))}:${tree.line[node]}` : "";
  const label = (node) => place(node) ? `${name(node)} ${place(node)}` : name(node);

  // Children of each node, as linked lists.
  const firstChild = new Int32Array(size), nextSibling = new Int32Array(size), depth = new Int32Array(size);
  for (let node = size - 1; node > 0; --node) {
    nextSibling[node] = firstChild[tree.parent[node]];
    firstChild[tree.parent[node]] = node;
  }
  for (let node = 1; node < size; ++node) depth[node] = depth[tree.parent[node]] + 1;

  // Sums over each node and all below it, in all and by format; a parent stands before its children.
  const kinds = formats.length * (isComparison ? 2 : 1);  // formats before, then after
  let key = "host_ns", sums = null, byFormat = null;
  function sumUp() {
    const sides = isComparison ? {before: [0], after: [1], both: [0, 1]}[$("paths-side").value] : [0];
    sums = new Float64Array(size);
    byFormat = new Float64Array(size * kinds);
    for (let i = 0; i < tree.node.length; ++i) {
      const side = tree.side?.[i] ?? 0;
      if (sides.includes(side)) sums[tree.node[i]] += tree[key][i];
      byFormat[tree.node[i] * kinds + side * formats.length + formatOf[i]] += tree[key][i];
    }
    for (let node = size - 1; node > 0; --node) {
      const parent = tree.parent[node];
      sums[parent] += sums[node];
      for (let i = 0; i < kinds; ++i) byFormat[parent * kinds + i] += byFormat[node * kinds + i];
    }
  }
  const sharesOf = (node, side = 0) => formats.map((format, i) => ({format, part: byFormat[node * kinds + side * formats.length + i]}))
    .filter(({part}) => part > 0).sort((a, b) => b.part - a.part);
  const sumOf = (node, side) => sharesOf(node, side).reduce((sum, {part}) => sum + part, 0);

  // --- Colours: those of the formats, mixed with the page's so that text can be read on them

  const parts = (text) => [1, 3, 5].map((begin) => parseInt(text.slice(begin, begin + 2), 16));
  let fills = {};
  function mixColours() {
    const page = parts(colour("panel"));
    fills = Object.fromEntries(formats.map((format) =>
      [format, `rgb(${parts(colour(format)).map((value, i) => Math.round(0.42 * value + 0.58 * page[i])).join(" ")})`]));
  }
  // Stripes as wide as the formats' shares.
  function stripes(node, colourOf, side = 0) {
    let begin = 0;
    const all = isComparison ? sumOf(node, side) : sums[node];
    const stops = sharesOf(node, side).map(({format, part}) => {
      const end = begin + 100 * part / all;
      const stop = `${colourOf(format)} ${begin.toFixed(2)}% ${end.toFixed(2)}%`;
      begin = end;
      return stop;
    });
    return stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
  }
  // Colour of a change: that of the panel for none, the stronger the more it is.
  function changeColour(node) {
    const before = sumOf(node, 0), after = sumOf(node, 1);
    const share = before === after ? 0 : (after - before) / Math.max(before, after);
    const page = parts(colour("none")), full = parts(colour(share > 0 ? "more" : "less"));
    return `rgb(${page.map((value, i) => Math.round(value + 0.75 * Math.abs(share) * (full[i] - value))).join(" ")})`;
  }
  // A comparison has the formats before on the upper edge, those after on the lower.
  function background(node) {
    const edge = (side) => stripes(node, (format) => colour(format), side);
    if (!isComparison) return `${edge(0)} bottom / 100% 3px no-repeat, ${stripes(node, (format) => fills[format])}`;
    return `${edge(0)} top / 100% 3px no-repeat, ${edge(1)} bottom / 100% 3px no-repeat, ${changeColour(node)}`;
  }

  const amountOf = (node) => isComparison ? `${amount(key, sumOf(node, 0))} → ${amount(key, sumOf(node, 1))}` : amount(key, sums[node]);
  function changeOf(node) {
    const before = sumOf(node, 0), after = sumOf(node, 1);
    if (before === 0 || after === 0) return before === after ? "" : before === 0 ? ", new" : ", gone";
    return `, ${after < before ? "−" : "+"}${(100 * Math.abs(after - before) / before).toFixed(1)} %`;
  }

  // --- Boxes

  let zoomed = 0, current = 0, boxes = new Map(), matches = null;

  // Children of a node that are at least so wide, the widest first.
  function childrenOf(node, least = 0) {
    const children = [];
    for (let child = firstChild[node]; child; child = nextSibling[child]) if (sums[child] > 0 && sums[child] >= least) children.push(child);
    return children.sort((a, b) => sums[b] - sums[a] || a - b);
  }
  // Number and sum of the narrower ones.
  function narrowOf(node, least) {
    let count = 0, sum = 0;
    for (let child = firstChild[node]; child; child = nextSibling[child]) {
      if (sums[child] === 0 || sums[child] >= least) continue;
      ++count;
      sum += sums[child];
    }
    return {count, sum};
  }
  function pathTo(node) {
    const path = [node];
    while (path[0] !== 0) path.unshift(tree.parent[path[0]]);
    return path;
  }

  function box(node, left, width, row) {
    const words = node === 0 ? "all calls" : label(node);
    const result = element("div", {class: "box", id: `path-${node}`, role: "treeitem", "aria-level": String(depth[node] + 1),
                                   "aria-label": `${words}: ${amountOf(node)}, ${percent(sums[node], sums[0])}`});
    if (width > 24) result.append(words);
    if (row < pathTo(zoomed).length - 1) result.classList.add("caller");
    if (matches) result.classList.add(matches.isHit(node) ? "hit" : matches.below[node] ? "path" : "miss");
    if (node === current) result.classList.add("current");
    Object.assign(result.style, {left: `${left}px`, width: `${Math.max(width - 1, 1)}px`, top: `${row * rowHeight}px`,
                                 background: background(node)});
    boxes.set(node, {element: result, left, width, row});
    return result;
  }
  // What is too narrow to draw, as one box.
  function narrowBox(count, left, width, row) {
    const result = element("div", {class: "box narrow-ones", title: `${counted(count, "call path")} too narrow to draw; a click on the box above has room for more`});
    Object.assign(result.style, {left: `${left}px`, width: `${Math.max(width - 1, 1)}px`, top: `${row * rowHeight}px`});
    return result;
  }

  function draw() {
    const width = graph.clientWidth;
    boxes = new Map();
    const drawn = [], path = pathTo(zoomed);
    let rows = path.length;
    path.forEach((node, row) => drawn.push(box(node, 0, width, row)));
    const waiting = [[zoomed, 0, width, path.length]];
    while (waiting.length) {
      const [node, left, room, row] = waiting.pop();
      let at = left;
      const least = leastWidth * sums[node] / room, narrow = narrowOf(node, least);
      for (const child of childrenOf(node, least)) {
        const own = room * sums[child] / sums[node];
        drawn.push(box(child, at, own, row));
        waiting.push([child, at, own, row + 1]);
        at += own;
        rows = Math.max(rows, row + 1);
      }
      const rest = room * narrow.sum / sums[node];
      if (rest >= 1) {
        drawn.push(narrowBox(narrow.count, at, rest, row));
        rows = Math.max(rows, row + 1);
      }
    }
    const canvas = element("div", {class: "boxes", role: "presentation"}, ...drawn);
    canvas.style.height = `${rows * rowHeight}px`;
    graph.replaceChildren(canvas);
    if (!boxes.has(current)) current = zoomed;
    mark(current, false);
    showLegend();
  }

  const formatShares = (node, side) => sharesOf(node, side).flatMap(({format, part}) =>
    [element("span", {class: "format"}, swatch(format), `${format} ${percent(part, sumOf(node, side))}`), " "]);
  function showLegend() {
    $("paths-legend").replaceChildren(...isComparison
      ? ["before: ", ...formatShares(zoomed, 0), "after: ", ...formatShares(zoomed, 1)] : formatShares(zoomed, 0));
  }

  // --- What is known of a box

  function sourceLine(node) {
    const known = tree.line[node] ? sources[file(node)] : undefined;
    if (!known) return [];
    const text = known.lines?.[tree.line[node]];
    if (text === undefined) return [element("span", {class: "note"}, `Its text is not shown: ${known.why ?? "the file has no such line"}.`)];
    return [element("code", {}, text || " "), known.changed ? element("span", {class: "note"}, "The file was changed after the first call.") : ""];
  }
  function showTip(node) {
    const {left, row} = boxes.get(node);
    const where = node === 0 ? "" : tree.line[node] ? `${file(node)}:${tree.line[node]}` : file(node);
    tip.replaceChildren(...[
      element("strong", {}, node === 0 ? "all calls" : name(node)),
      where && element("span", {class: "file"}, where), ...sourceLine(node),
      element("span", {}, `${amountOf(node)}${isComparison ? changeOf(node) : ""}; ${percent(sums[node], sums[0])} of all` +
        (zoomed ? `, ${percent(sums[node], sums[zoomed])} of what is shown` : "")),
      isComparison && element("span", {}, "before: ", ...formatShares(node, 0)),
      element("span", {}, isComparison ? "after: " : "", ...formatShares(node, isComparison ? 1 : 0))].filter(Boolean));
    tip.hidden = false;
    const area = graph.getBoundingClientRect(), section = $("paths").getBoundingClientRect();
    const top = area.top - section.top + (row + 1) * rowHeight - graph.scrollTop + 6;
    tip.style.top = `${top}px`;
    tip.style.left = `${Math.max(0, Math.min(left, area.width - tip.offsetWidth - 4))}px`;
  }
  const hideTip = () => { tip.hidden = true; };

  function mark(node, isShown = true) {
    boxes.get(current)?.element.classList.remove("current");
    boxes.get(current)?.element.removeAttribute("aria-selected");
    current = node;
    const {element: chosen} = boxes.get(node);
    chosen.classList.add("current");
    chosen.setAttribute("aria-selected", "true");
    graph.setAttribute("aria-activedescendant", chosen.id);
    if (!isShown) return;
    chosen.scrollIntoView({block: "nearest"});
    showTip(node);
  }

  // --- Selection, which filters the rest of the page

  // Calls of each listed decision, those of the others, and sums by format: of a node and all below it, and of one side.
  function selectionOf(node, side = 0) {
    const isBelow = new Uint8Array(size);
    for (let i = node; i < size; ++i) isBelow[i] = i === node || (i > node && isBelow[tree.parent[i]]) ? 1 : 0;
    const rows = new Map(), other = {calls: 0, host_ns: 0, work: 0}, sorts = new Map();
    for (let i = 0; i < tree.node.length; ++i) {
      if (!isBelow[tree.node[i]] || (tree.side?.[i] ?? 0) !== side) continue;
      const place = tree.row[i], format = formats[formatOf[i]];
      if (place >= 0 && !rows.has(place)) rows.set(place, {calls: 0, host_ns: 0, work: 0, ran: new Map()});
      if (place >= 0) rows.get(place).ran.set(format, (rows.get(place).ran.get(format) ?? 0) + tree.calls[i]);
      if (!sorts.has(format)) sorts.set(format, {format, calls: 0, host_ns: 0, work: 0});
      for (const sum of [place >= 0 ? rows.get(place) : other, sorts.get(format)])
        for (const one of ["calls", "host_ns", "work"]) sum[one] += tree[one][i];
    }
    const names = pathTo(node).slice(1).map(name);
    return {name: (names.length > 4 ? "… › " : "") + names.slice(-4).join(" › "), rows, other,
            formats: formats.map((format) => sorts.get(format)).filter(Boolean)};
  }
  function select(node) {
    zoomed = current = node;
    hideTip();
    draw();
    onSelect(node === 0 ? null : selectionOf(node), node === 0 || !isComparison ? null : selectionOf(node, 1));
  }

  // --- Search

  function find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    matches = null;
    $("paths-answer").textContent = "";
    if (words.length) {
      const isMatch = new Uint8Array(size), below = new Uint8Array(size), under = new Uint8Array(size);
      const known = new Map();  // by name, file and line, since many nodes share them
      const found = {nodes: 0, sum: 0};
      for (let node = 1; node < size; ++node) {
        const id = `${tree.name[node]} ${tree.file[node]} ${tree.line[node]}`;
        if (!known.has(id)) {
          const all = `${label(node)}\n${file(node)}\n${sources[file(node)]?.lines?.[tree.line[node]] ?? ""}`.toLowerCase();
          known.set(id, words.every((word) => all.includes(word)));
        }
        isMatch[node] = known.get(id) ? 1 : 0;
        under[node] = isMatch[node] || under[tree.parent[node]];
        found.nodes += isMatch[node];
        if (isMatch[node] && !under[tree.parent[node]]) found.sum += sums[node];  // counts no call twice
      }
      for (let node = size - 1; node > 0; --node) if (isMatch[node] || below[node]) below[tree.parent[node]] = 1;
      matches = {isHit: (node) => isMatch[node] === 1, below};
      $("paths-answer").textContent = found.nodes
        ? `${counted(found.nodes, "place")} found: ${percent(found.sum, sums[0])} of all, ${amount(key, found.sum)}.` : "Nothing found.";
    }
    draw();
  }

  // --- Mouse and keyboard

  const nodeAt = (event) => {
    const found = event.target.closest?.(".box[role=treeitem]");
    return found ? Number(found.id.slice("path-".length)) : -1;
  };
  const clicked = (event) => {
    const node = nodeAt(event);
    if (node >= 0) select(node === zoomed && node !== 0 ? tree.parent[node] : node);
  };
  const hovered = (event) => {
    const node = nodeAt(event);
    if (node >= 0) showTip(node);
    else hideTip();
  };
  // Box beside the current one, in the same row.
  function beside(step) {
    const row = boxes.get(current).row;
    const line = [...boxes].filter(([, one]) => one.row === row).sort((a, b) => a[1].left - b[1].left).map(([node]) => node);
    return line[line.indexOf(current) + step] ?? current;
  }
  const keys = {
    ArrowUp: () => mark(current === 0 ? 0 : tree.parent[current]),
    ArrowDown: () => mark(childrenOf(current).find((node) => boxes.has(node)) ?? current),
    ArrowLeft: () => mark(beside(-1)),
    ArrowRight: () => mark(beside(1)),
    Home: () => mark(0),
    Enter: () => { select(current); mark(current); },
    Escape: () => select(0),
  };
  const pressed = (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  };
  const slash = (event) => {
    const isTyping = /^(input|select|textarea)$/i.test(event.target.tagName ?? "");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    $("paths-search").focus();
  };
  const searchPressed = (event) => {
    if (event.key === "Escape") $("paths-search").value = "";
    if (event.key === "Escape" || event.key === "Enter") {
      find($("paths-search").value);
      graph.focus();
    }
  };
  const typed = () => find($("paths-search").value);
  const measured = () => {
    key = $("paths-width").value;
    sumUp();
    find($("paths-search").value);
  };
  const listeners = [[graph, "click", clicked], [graph, "mousemove", hovered], [graph, "mouseleave", hideTip], [graph, "keydown", pressed],
                     [graph, "blur", hideTip], [document, "keydown", slash], [$("paths-search"), "input", typed],
                     [$("paths-search"), "keydown", searchPressed], [$("paths-width"), "change", measured]];
  if (isComparison) listeners.push([$("paths-side"), "change", measured]);
  for (const [target, event, listener] of listeners) target.addEventListener(event, listener);

  key = $("paths-width").value;
  sumUp();
  return {
    redraw() {
      hideTip();
      mixColours();
      find($("paths-search").value);
    },
    showAll: () => select(0),
    close() {
      for (const [target, event, listener] of listeners) target.removeEventListener(event, listener);
    },
  };
};
