// Sums up a quantity of the calls of each node and of all nodes below it, in total and by format.
import {formats} from "../shared/formats.js";

export class PathSummary {
  // Adds up the quantity with the name `key`, such as `host_ns`.
  constructor(tree, key) {
    this.tree = tree;
    this.all = new Float64Array(tree.size);
    this.byFormat = new Float64Array(tree.size * formats.length);
    this.addOwnCalls(tree.columns.node, tree.columns[key]);
    this.addCallees();
  }

  addOwnCalls(nodes, amounts) {
    for (let i = 0; i < nodes.length; ++i) {
      this.all[nodes[i]] += amounts[i];
      this.byFormat[nodes[i] * formats.length + this.tree.formatIndex[i]] += amounts[i];
    }
  }

  addCallees() {
    for (let node = this.tree.size - 1; node > 0; --node) {
      const parent = this.tree.parent(node);
      this.all[parent] += this.all[node];
      for (let i = 0; i < formats.length; ++i) {
        this.byFormat[parent * formats.length + i] += this.byFormat[node * formats.length + i];
      }
    }
  }

  // Returns the sums of a node by format, largest first.
  sumsByFormat(node) {
    return formats
      .map((format, i) => ({format, part: this.byFormat[node * formats.length + i]}))
      .filter(({part}) => part > 0)
      .sort((a, b) => b.part - a.part);
  }

  // Returns the children of `node` that have a sum above 0 and of at least `least`, the child with
  // the largest sum first.
  childrenFrom(node, least) {
    return this.tree
      .children(node)
      .filter((child) => this.all[child] > 0 && this.all[child] >= least)
      .sort((a, b) => this.all[b] - this.all[a] || a - b);
  }

  // Returns the children of `node` that have a sum above 0 but of less than `least`.
  childrenBelow(node, least) {
    return this.tree
      .children(node)
      .filter((child) => this.all[child] > 0 && this.all[child] < least);
  }
}
