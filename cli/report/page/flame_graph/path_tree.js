// A tree of call paths. Node 0 stands for all calls. A caller has a smaller number than the nodes
// that it calls. A node may stand for several frames of a library, which are folded.
import {formats} from "../shared/formats.js";
import {baseName, counted} from "../shared/text.js";

export class PathTree {
  // Makes the tree from `columns` of folding.js. `sources` has the lines of source files.
  constructor(columns, sources) {
    this.columns = columns;
    this.sources = sources;
    this.size = columns.parent.length;
    this.linkChildren();
    const known = columns.texts.map((text) => formats.indexOf(text));
    const unknown = formats.indexOf("unknown");
    this.formatIndex = columns.format.map((text) => (known[text] < 0 ? unknown : known[text]));
  }

  // Links the children of each node into a list.
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
  // Returns the number of frames that are folded into a node, or 0.
  frames(node) {
    return this.columns.frames.get(node) ?? 0;
  }
  line(node) {
    return this.frames(node) ? 0 : this.columns.line[node];
  }
  file(node) {
    return this.frames(node) ? "" : this.columns.texts[this.columns.file[node]];
  }
  name(node) {
    if (node === 0) return "all";
    const frames = this.frames(node);
    if (!frames) return this.columns.texts[this.columns.name[node]];
    return `${this.columns.libraryOf(this.columns.originals[node])} (${counted(frames, "frame")})`;
  }

  // Returns the name and the location of a node: `forward model.py:41`.
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

  // Returns the nodes of the path from node 0 to this node.
  pathTo(node) {
    const path = [node];
    while (path[0] !== 0) path.unshift(this.parent(path[0]));
    return path;
  }
}
