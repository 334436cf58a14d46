// A tree of call paths. Node 0 is all calls; a caller has a smaller number than those that it
// calls.
import {formats} from "../shared/formats.js";

const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);

export class PathTree {
  // `columns`: of the nodes and of the sums of calls, as cli/report/page_paths.hpp describes them.
  // `sources`: lines of source files. `isComparison`: there are sums before (side 0) and after (1).
  constructor(columns, sources, isComparison) {
    this.columns = columns;
    this.sources = sources;
    this.isComparison = isComparison;
    this.size = columns.parent.length;
    this.linkChildren();
    const known = columns.texts.map((text) => formats.indexOf(text));
    const unknown = formats.indexOf("unknown");
    this.formatIndex = columns.format.map((text) => (known[text] < 0 ? unknown : known[text]));
  }

  // The children of each node are linked lists.
  linkChildren() {
    const {parent} = this.columns;
    this.firstChild = new Int32Array(this.size);
    this.nextSibling = new Int32Array(this.size);
    this.depth = new Int32Array(this.size);
    for (let node = this.size - 1; node > 0; --node) {
      this.nextSibling[node] = this.firstChild[parent[node]];
      this.firstChild[parent[node]] = node;
    }
    for (let node = 1; node < this.size; ++node) this.depth[node] = this.depth[parent[node]] + 1;
  }

  parent(node) {
    return this.columns.parent[node];
  }
  line(node) {
    return this.columns.line[node];
  }
  file(node) {
    return this.columns.texts[this.columns.file[node]];
  }
  name(node) {
    return node === 0 ? "all" : this.columns.texts[this.columns.name[node]];
  }

  // Returns the name and where it is: `forward model.py:41`.
  label(node) {
    const line = this.line(node);
    return line ? `${this.name(node)} ${baseName(this.file(node))}:${line}` : this.name(node);
  }

  children(node) {
    const children = [];
    let child = this.firstChild[node];
    for (; child; child = this.nextSibling[child]) children.push(child);
    return children;
  }

  // Returns the nodes from that of all calls to this one.
  pathTo(node) {
    const path = [node];
    while (path[0] !== 0) path.unshift(this.parent(path[0]));
    return path;
  }

  // Returns the side of a sum of calls.
  side(index) {
    return this.columns.side?.[index] ?? 0;
  }
}
