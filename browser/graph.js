/**
 * Runs a graph that was exported with `vocabless space`.
 *
 * The graph is JSON: every value has a number. Constants have the first numbers, then comes the input, then what the
 * nodes compute. The numbers of the weights are in one ArrayBuffer: as float32, or as int8 with one factor for each
 * row or column.
 */

import { MatrixProducts } from "./matmul.js";
import { OPERATORS } from "./operators.js";
import { zeros } from "./tensors.js";

/** @typedef {import("./tensors.js").Tensor} Tensor */

/**
 * @typedef {object} Constant
 * @property {"float" | "int" | "bool"} type
 * @property {number[]} dims
 * @property {number[]} [values] - of integers and truth values
 * @property {number} [offset] - bytes before the float32 numbers in the weights
 * @property {{offset: number, scales: number, axis: number}} [int8] - bytes before the int8 numbers and before their
 *     factors, one for each index of `axis`
 */

/**
 * @typedef {object} GraphDescription
 * @property {Constant[]} constants
 * @property {number} input - number of the blocks, (rows, tokens, K)
 * @property {{op: string, inputs: number[], outputs: number[], attributes?: object}[]} nodes - in order; −1 stands for
 *     an input that is left out
 * @property {Object<string, number>} outputs - name → number
 */

export class Graph {
  /**
   * @param {GraphDescription} description
   * @param {ArrayBuffer} weights
   */
  constructor(description, weights) {
    this.input = description.input;
    this.outputs = description.outputs;
    this.products = new MatrixProducts();
    this.constants = new Map(description.constants.map((constant, id) => [id, readConstant(constant, weights)]));
    this.nodes = this.#foldConstants(description.nodes);
    this.#forgetUnused();
    this.lastUses = lastUses(this.nodes, new Set(Object.values(this.outputs)));
  }

  /**
   * Returns the outputs of the graph by name.
   * @param {Tensor} blocks
   * @returns {Object<string, Tensor>}
   */
  run(blocks) {
    const values = new Map([[this.input, blocks]]);
    this.nodes.forEach((node, index) => {
      this.#compute(node, values);
      this.lastUses[index].forEach((id) => values.delete(id)); // so that a large batch fits a phone
    });
    return Object.fromEntries(Object.entries(this.outputs).map(([name, id]) => [name, values.get(id)]));
  }

  /** Computes a node; reads and writes `values`. */
  #compute({ op, inputs, outputs, attributes }, values) {
    const tensors = inputs.map((id) => (id < 0 ? undefined : this.constants.get(id) ?? values.get(id)));
    const context = { products: this.products, isConstant: (place) => this.constants.has(inputs[place]) };
    const results = OPERATORS[op](tensors, attributes ?? {}, context);
    outputs.forEach((id, place) => values.set(id, results[place]));
  }

  /** Computes the nodes that depend on constants alone, once; returns the other nodes. */
  #foldConstants(nodes) {
    return nodes.filter((node) => {
      if (!node.inputs.every((id) => id < 0 || this.constants.has(id))) return true;
      this.#compute(node, this.constants);
      return false;
    });
  }

  /** Forgets constants that no node reads any more. */
  #forgetUnused() {
    const used = new Set([...this.nodes.flatMap((node) => node.inputs), ...Object.values(this.outputs)]);
    for (const id of this.constants.keys()) if (!used.has(id)) this.constants.delete(id);
  }
}

/** Returns for each node the values that no later node reads. */
function lastUses(nodes, kept) {
  const seen = new Set(kept);
  return nodes.slice().reverse().map((node) => {
    const last = [...node.inputs, ...node.outputs].filter((id) => id >= 0 && !seen.has(id));
    last.forEach((id) => seen.add(id));
    return last;
  }).reverse();
}

/** Returns a constant as a tensor. */
function readConstant({ type, dims, values, offset, int8 }, weights) {
  const tensor = zeros(type, dims);
  if (values) tensor.data.set(values);
  else if (int8) dequantize(tensor, int8, weights);
  else tensor.data.set(new Float32Array(weights, offset, tensor.data.length));
  return tensor;
}

/** Fills a matrix with its int8 numbers times their factors. */
function dequantize({ data, dims }, { offset, scales, axis }, weights) {
  const numbers = new Int8Array(weights, offset, data.length);
  const factors = new Float32Array(weights, scales, dims[axis]);
  const [rows, columns] = dims;
  for (let row = 0, i = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, i++) data[i] = numbers[i] * factors[axis === 0 ? row : column];
  }
}
