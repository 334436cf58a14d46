// Sums of a quantity for each node of a tree with all nodes below it: in total, and by format and
// side.
import {formats} from "../shared/formats.js";
import {sum} from "../shared/text.js";

export class PathSums {
  // Adds up the quantity `key`. Totals include only the given `sides`.
  constructor(tree, key, sides) {
    this.tree = tree;
    // Formats of the first side, then those of the second.
    this.kinds = formats.length * (tree.isComparison ? 2 : 1);
    this.all = new Float64Array(tree.size);
    this.byKind = new Float64Array(tree.size * this.kinds);
    this.addOwnCalls(tree.columns.node, tree.columns[key], sides);
    this.addCallees();
  }

  addOwnCalls(nodes, amounts, sides) {
    for (let i = 0; i < nodes.length; ++i) {
      const side = this.tree.side(i);
      const kind = side * formats.length + this.tree.formatIndex[i];
      if (sides.includes(side)) this.all[nodes[i]] += amounts[i];
      this.byKind[nodes[i] * this.kinds + kind] += amounts[i];
    }
  }

  addCallees() {
    for (let node = this.tree.size - 1; node > 0; --node) {
      const parent = this.tree.parent(node);
      this.all[parent] += this.all[node];
      for (let i = 0; i < this.kinds; ++i) {
        this.byKind[parent * this.kinds + i] += this.byKind[node * this.kinds + i];
      }
    }
  }

  // Returns the sums of one side by format, largest first.
  parts(node, side = 0) {
    const begin = node * this.kinds + side * formats.length;
    return formats
      .map((format, i) => ({format, part: this.byKind[begin + i]}))
      .filter(({part}) => part > 0)
      .sort((a, b) => b.part - a.part);
  }

  ofSide(node, side = 0) {
    return sum(this.parts(node, side), ({part}) => part);
  }

  // Returns the children whose sum is at least `least`, largest first.
  childrenFrom(node, least) {
    return this.tree
      .children(node)
      .filter((child) => this.all[child] > 0 && this.all[child] >= least)
      .sort((a, b) => this.all[b] - this.all[a] || a - b);
  }

  // Returns the children whose sum is less than `least`.
  childrenBelow(node, least) {
    return this.tree
      .children(node)
      .filter((child) => this.all[child] > 0 && this.all[child] < least);
  }
}
