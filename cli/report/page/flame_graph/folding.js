// Folds the frames of libraries in call paths: consecutive frames of one library become one node,
// so that the program's own frames stand out.

// The libraries whose frames can be folded. `files` matches the paths of their Python modules and
// of their compiled code.
const libraries = [
  {name: "torch", files: /\/(?:site|dist)-packages\/torch\/|\/lib(?:torch|c10)[^/]*\.so/},
  {name: "jax", files: /\/(?:site|dist)-packages\/(?:jax|jaxlib|flax)\//},
  {name: "tensorflow", files: /\/(?:site|dist)-packages\/(?:tensorflow|keras)\//},
  {name: "numpy", files: /\/(?:site|dist)-packages\/numpy\//},
  {name: "scipy", files: /\/(?:site|dist)-packages\/scipy\//},
];

// Returns, for each text, the index of the library whose file it names, or -1.
function libraryIndices(texts) {
  return texts.map((text) => libraries.findIndex(({files}) => files.test(text)));
}

// Finds the regions of a tree. A region is two or more connected nodes of one library. Returns for
// each node the top node of its region, or 0 if the node is in no region.
function findLibraryRegions({parent, file, texts}) {
  const libraryOfText = libraryIndices(texts);
  const tops = new Int32Array(parent.length);
  const sizes = new Int32Array(parent.length);
  const libraryOf = (node) => (node === 0 ? -1 : libraryOfText[file[node]]);
  for (let node = 1; node < parent.length; ++node) {
    const library = libraryOf(node);
    if (library < 0) continue;
    tops[node] = libraryOf(parent[node]) === library ? tops[parent[node]] : node;
    ++sizes[tops[node]];
  }
  for (let node = 1; node < parent.length; ++node) if (sizes[tops[node]] < 2) tops[node] = 0;
  return {tops, nameOf: (node) => libraries[libraryOf(node)].name};
}

// The call paths, in which each region of a library's frames can be folded into one node.
export class FoldablePaths {
  // `columns` are described in cli/report/page_parts.hpp.
  constructor(columns) {
    this.columns = columns;
    this.regions = findLibraryRegions(columns);
    this.opened = new Set(); // top nodes of the regions that are shown frame by frame
    this.isPossible = this.regions.tops.some((top) => top > 0);
  }

  openAll() {
    for (const top of this.regions.tops) this.opened.add(top);
  }

  closeAll() {
    this.opened.clear();
  }

  // Returns the tree in which all regions but the opened ones are folded, in the form of `columns`.
  // `frames` maps each folded node to the number of its frames, and `tops` maps it to the top nodes
  // of its regions. `originals` maps each node of the tree to a node of `columns`, and `nodeOf`
  // maps each node of `columns` to a node of the tree.
  foldedTree() {
    if (!this.isPossible) return this.unfoldedTree();
    const {parent, name, file, line} = this.columns;
    const tree = {parent: [0], name: [name[0]], file: [file[0]], line: [0], originals: [0]};
    const nodeOf = new Int32Array(parent.length);
    const [known, frames, tops] = [new Map(), new Map(), new Map()];
    for (let node = 1; node < parent.length; ++node) {
      const above = nodeOf[parent[node]];
      const top = this.regions.tops[node];
      const isFolded = top > 0 && !this.opened.has(top);
      if (isFolded && top !== node) {
        nodeOf[node] = nodeOf[top];
        frames.set(nodeOf[node], frames.get(nodeOf[node]) + 1);
        continue;
      }
      const words = isFolded
        ? this.regions.nameOf(node)
        : `${name[node]} ${file[node]} ${line[node]}`;
      const id = `${above} ${words}`;
      if (!known.has(id)) known.set(id, copyNode(tree, this.columns, node, above));
      const found = known.get(id);
      nodeOf[node] = found;
      if (!isFolded) continue;
      frames.set(found, (frames.get(found) ?? 0) + 1);
      tops.set(found, [...(tops.get(found) ?? []), top]);
    }
    const sums = {...this.columns, node: this.columns.node.map((node) => nodeOf[node])};
    return {...sums, ...tree, frames, tops, nodeOf, libraryOf: this.regions.nameOf};
  }

  unfoldedTree() {
    const same = this.columns.parent.map((_, node) => node);
    return {...this.columns, frames: new Map(), tops: new Map(), originals: same, nodeOf: same};
  }
}

function copyNode(tree, {name, file, line}, node, above) {
  tree.parent.push(above);
  tree.name.push(name[node]);
  tree.file.push(file[node]);
  tree.line.push(line[node]);
  tree.originals.push(node);
  return tree.parent.length - 1;
}
