/** A sentence encoder without any other program: texts → vectors. */

import { Graph } from "./graph.js";
import { listOfTexts } from "./texts.js";
import { Tokenizer } from "./tokenizer.js";

/** @typedef {import("./words.js").Unit} Unit */

const LARGEST_INT8 = 127;

export class Encoder {
  /**
   * @param {{tokenizer: import("./tokenizer.js").TokenizerSettings, graph: import("./graph.js").GraphDescription,
   *     dimensions: number}} manifest
   * @param {ArrayBuffer} weights
   */
  constructor(manifest, weights) {
    this.graph = new Graph(manifest.graph, weights);
    this.tokenizer = new Tokenizer(manifest.tokenizer);
    this.dimensions = manifest.dimensions;
  }

  /**
   * Returns the vector of each text, of length 1.
   * @param {Iterable<string>} texts
   * @param {object} [options]
   * @param {number} [options.dimensions] - keeps the first numbers of each vector, and divides them by their length
   * @param {boolean} [options.int8] - whether each vector is multiplied so that its largest number is ±127, and rounded
   * @returns {Float32Array[] | Int8Array[]}
   * @throws {RangeError} a vector has fewer dimensions
   * @throws {TypeError} see `listOfTexts`
   */
  encode(texts, { dimensions, int8 = false } = {}) {
    const isCut = dimensions !== undefined;
    if (isCut && !(Number.isInteger(dimensions) && 1 <= dimensions && dimensions <= this.dimensions)) {
      throw new RangeError(`dimensions=${dimensions} is not within 1 and ${this.dimensions}; give a number between.`);
    }
    const whole = this.#run(texts, ({ sentence_embedding: vectors }, row) => numbersAt(vectors, row));
    const vectors = isCut ? whole.map((vector) => ofLength1(vector.subarray(0, dimensions))) : whole;
    return int8 ? vectors.map(asInt8) : vectors;
  }

  /**
   * Returns for each text its units that the model read, and a vector for each of them. The mean of the vectors of all
   * tokens points where the vector of the text does. The graph must have the output `token_embeddings`.
   * @param {string[]} texts
   * @returns {{units: Unit[], ofUnits: Float32Array[]}[]}
   */
  encodeWords(texts) {
    return this.#run(texts, ({ token_embeddings: words }, row, units, tokens) => ({
      units,
      ofUnits: tokens.map((token) => numbersAt(words, row * words.dims[1] + token)),
    }));
  }

  /** Returns what `read` makes of each text: it gets the outputs for a batch, a row, its units and their tokens. */
  #run(texts, read) {
    const rows = listOfTexts(texts).map((text) => this.tokenizer.unitsOf(text).units);
    const results = new Array(rows.length);
    for (const { places, data, dims, positions } of this.tokenizer.batchesOf(rows, false)) {
      const outputs = this.graph.run({ type: "int", data, dims });
      places.forEach((place, row) => {
        results[place] = read(outputs, row, rows[place], positions[row]);
      });
    }
    return results;
  }
}

/** Returns a row of a tensor whose last axis holds vectors. */
function numbersAt({ data, dims }, row) {
  const width = dims.at(-1);
  return data.slice(row * width, (row + 1) * width);
}

function ofLength1(vector) {
  const length = Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0));
  return vector.map((number) => number / Math.max(length, 1e-12));
}

/** Returns a vector as int8 numbers, multiplied so that its largest number is ±127. */
function asInt8(vector) {
  const largest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  return Int8Array.from(vector, (number) => Math.round((number * LARGEST_INT8) / (largest || 1)));
}
