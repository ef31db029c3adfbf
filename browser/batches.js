/** A classifier: texts → rows of blocks → logits → predictions. */

import { TASKS } from "./predictions.js";
import { joinRejecting, joinSentences, sentencesOf } from "./sentences.js";
import { Tokenizer } from "./tokenizer.js";

/**
 * @typedef {import("./words.js").Unit} Unit
 * @typedef {import("./vocabless.d.ts").Prediction} Prediction
 */

/**
 * @callback RunBlocks
 * @param {Float64Array} elements
 * @param {number[]} dims - (rows, tokens, K)
 * @returns {Promise<{data: Float32Array, dims: number[]}>} the logits, (rows, labels) or (rows, tokens, labels)
 */

export class Classifier {
  /**
   * @param {object} manifest - see `loadClassifier`
   * @param {RunBlocks} runBlocks
   */
  constructor(manifest, runBlocks) {
    this.manifest = manifest;
    this.runBlocks = runBlocks;
    this.tokenizer = new Tokenizer(manifest.tokenizer);
  }

  /**
   * Classifies texts.
   * @param {{text: string, pair?: string}[]} inputs - texts, or pairs of texts
   * @returns {Promise<Prediction[]>}
   */
  async classify(inputs) {
    const start = performance.now();
    const { is_pair: isPair } = this.manifest;
    const read = inputs.map(({ text, pair = "" }) => this.tokenizer.unitsOf(text, isPair ? pair : undefined));
    const predictions = await this.#predict(read.map(({ units }) => units), start);
    return predictions.map((prediction, index) => ({ ...prediction, truncated: read[index].truncated }));
  }

  /**
   * Classifies copies of a text, each without one of its units.
   * @param {Unit[]} units - as an earlier prediction returned them
   * @param {number} start - the first unit that is left out
   * @param {number} end - the unit behind the last one that is left out
   * @returns {Promise<object[]>} a prediction for each of these units, without `truncated`
   */
  async withoutEachUnit(units, start, end) {
    const rows = units.slice(start, end).map((left) => units.filter((unit) => unit !== left));
    return this.#predict(rows, performance.now());
  }

  /** Returns the predictions for rows of units, in batches. */
  async #predict(rows, start) {
    const results = new Array(rows.length);
    for (const { places, data, dims, positions } of this.tokenizer.batchesOf(rows, this.manifest.is_pair)) {
      const logits = await this.#logitsOf(data, dims);
      places.forEach((place, row) => {
        results[place] = { units: rows[place], ...this.#read(logits, row, positions[row]) };
      });
    }
    const ms = (performance.now() - start) / Math.max(1, rows.length);
    return results.map((result) => ({ ...result, ms }));
  }

  /** Returns the logits of rows; a model that reads sentences, too, reads those of texts with several. */
  async #logitsOf(data, dims) {
    const logits = await this.runBlocks(data, dims);
    const { reads_sentences: rule, rejects } = this.manifest;
    if (!rule) return logits;
    const width = logits.dims[1];
    const at = ({ data }, row) => Array.from(data.subarray(row * width, (row + 1) * width));
    const ofTexts = new Map(); // text → the logits of its sentences
    for (const { texts, ...sentences } of sentencesOf(data, dims, rule)) {
      const read = await this.runBlocks(sentences.data, sentences.dims);
      texts.forEach((text, row) => ofTexts.set(text, [...(ofTexts.get(text) ?? []), at(read, row)]));
    }
    const joined = Float32Array.from(logits.data);
    const join = rejects ? joinRejecting : joinSentences;
    ofTexts.forEach((rows, text) => joined.set(join(at(logits, text), rows, rule), text * width));
    return { data: joined, dims: logits.dims };
  }

  /** Returns what the logits say about a row. */
  #read({ data, dims }, row, positions) {
    const { isOfUnits, predict } = TASKS[this.manifest.task];
    const width = dims[dims.length - 1];
    const at = (place) => Array.from(data.subarray(place * width, (place + 1) * width));
    if (!isOfUnits) return predict(at(row), this.manifest);
    const ofUnits = positions.map((token) => predict(at(row * dims[1] + token), this.manifest));
    return Object.fromEntries(["logits", "probabilities", "label"].map((key) => [key, ofUnits.map((one) => one[key])]));
  }
}
