/** A sentence encoder in the page, without any other program: texts → vectors. */

import { Graph } from "./graph.js";
import { Tokenizer } from "./tokenizer.js";

/** @typedef {import("./words.js").Unit} Unit */

const MAX_NUMBERS = 1 << 16; // elements of the blocks in one batch; a larger one would need much memory

export class Encoder {
  /**
   * @param {{tokenizer: import("./tokenizer.js").TokenizerSettings, graph: import("./graph.js").GraphDescription}} manifest
   * @param {ArrayBuffer} weights
   */
  constructor(manifest, weights) {
    this.graph = new Graph(manifest.graph, weights);
    this.tokenizer = new Tokenizer(manifest.tokenizer);
  }

  /**
   * Returns the vector of each text, of length 1.
   * @param {string[]} texts
   * @returns {Float32Array[]}
   */
  encode(texts) {
    return this.encodeWords(texts).map(({ vector }) => vector);
  }

  /**
   * Returns the vector of each text, its units that the model read, and a vector for each of them. The mean of the
   * vectors of all tokens points where the vector of the text does.
   * @param {string[]} texts
   * @returns {{vector: Float32Array, units: Unit[], ofUnits: Float32Array[]}[]}
   */
  encodeWords(texts) {
    const rows = texts.map((text) => this.tokenizer.unitsOf(text).units);
    const longest = rows.reduce((most, units) => Math.max(most, units.length), 0) + 2;
    const size = Math.max(1, Math.floor(MAX_NUMBERS / (longest * this.tokenizer.settings.block_size)));
    const results = [];
    while (results.length < rows.length) {
      const batch = rows.slice(results.length, results.length + size);
      const { data, dims, positions } = this.tokenizer.blocksOf(batch, false);
      const { sentence_embedding: whole, token_embeddings: words } = this.graph.run({ type: "int", data, dims });
      const width = whole.dims[1];
      const at = ({ data: numbers }, place) => numbers.slice(place * width, (place + 1) * width);
      batch.forEach((units, row) => {
        const ofUnits = positions[row].map((token) => at(words, row * words.dims[1] + token));
        results.push({ vector: at(whole, row), units, ofUnits });
      });
    }
    return results;
  }
}
