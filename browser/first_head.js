/**
 * The first head: a linear model of frozen vectors, and the weights that it gives the head of a model.
 *
 * The same as training/finetuning/first_head.py: vectors are standardised, the strength of the regularisation is chosen by
 * cross-validation, and the score comes with the interval of training/finetuning/metrics.py.
 */

import { logisticRegression, logProbabilities } from "./logistic_regression.js";

const STRENGTHS = [0.003, 0.03, 0.3]; // inverse regularisation, for standardised numbers
const SMALL = 0.3; // share of a standardised number that the head's tanh reads, where it is nearly linear
const QUANTILE = 1.959964; // of the normal distribution, for 95 %

/** A linear model of standardised vectors. Its fields are plain, so that a worker can send it. */
export class FirstHead {
  /** @param {{weight: Float64Array[], bias: Float64Array, mean: Float64Array, deviation: Float64Array}} fields */
  constructor(fields) {
    Object.assign(this, fields);
  }

  /** Returns the model of n vectors (n, D) and their labels; see `logisticRegression`. */
  static fit(vectors, targets, labels, strength) {
    const mean = meanOf(vectors);
    const squares = vectors.map((vector) => vector.map((number, i) => (number - mean[i]) ** 2));
    const deviation = meanOf(squares).map((square) => Math.sqrt(square) || 1);
    const standardised = vectors.map((vector) => vector.map((number, i) => (number - mean[i]) / deviation[i]));
    return new FirstHead({ ...logisticRegression(standardised, targets, labels, strength), mean, deviation });
  }

  /** Returns the logits of a vector. */
  logits(vector) {
    return this.#logits(vector, (number) => number);
  }

  /** Returns the logits that a head with the weights of `tensors` gives: those of this model, up to the curve of tanh. */
  headLogits(vector) {
    return this.#logits(vector, (number) => Math.tanh(SMALL * number) / SMALL);
  }

  #logits(vector, curve) {
    const numbers = vector.map((number, i) => curve((number - this.mean[i]) / this.deviation[i]));
    return Array.from(this.bias, (bias, label) => numbers.reduce((sum, number, i) => sum + number * this.weight[label][i], bias));
  }

  /**
   * Returns the weights of the head of a model by name: a first layer that standardises, and an output layer.
   * @returns {Object<string, {dims: number[], data: Float32Array}>}
   */
  tensors() {
    const width = this.mean.length;
    const dense = new Float32Array(width * width);
    this.deviation.forEach((deviation, i) => (dense[i * (width + 1)] = SMALL / deviation));
    const output = this.weight.flatMap((row) => Array.from(row, (number) => number / SMALL));
    return {
      "classifier.dense.weight": { dims: [width, width], data: dense },
      "classifier.dense.bias": { dims: [width], data: Float32Array.from(this.mean, (mean, i) => (-SMALL * mean) / this.deviation[i]) },
      "classifier.out_proj.weight": { dims: [this.bias.length, width], data: Float32Array.from(output) },
      "classifier.out_proj.bias": { dims: [this.bias.length], data: Float32Array.from(this.bias) },
    };
  }
}

/**
 * Returns the strength with the smallest loss on held-out rows, and its logits for each row when held out.
 * @param {Float64Array[]} vectors - (n, D)
 * @param {number[]} targets
 * @param {number} labels
 * @param {number[][]} folds - each row is in one
 * @param {() => Promise<boolean>} isOutdated - is asked between two fits whether the result is still wanted
 * @returns {Promise<{strength: number, logits: number[][]} | null>} null if it is not
 */
export async function crossValidate(vectors, targets, labels, folds, isOutdated) {
  const results = STRENGTHS.map((strength) => ({ strength, logits: new Array(vectors.length), loss: 0 }));
  for (const heldOut of folds) {
    const isHeldOut = new Set(heldOut);
    const rest = targets.map((_, row) => row).filter((row) => !isHeldOut.has(row));
    for (const result of results) {
      if (await isOutdated()) return null;
      const head = FirstHead.fit(rest.map((row) => vectors[row]), rest.map((row) => targets[row]), labels, result.strength);
      for (const row of heldOut) {
        result.logits[row] = head.logits(vectors[row]);
        result.loss -= logProbabilities(result.logits[row])[targets[row]];
      }
    }
  }
  return results.reduce((best, result) => (result.loss < best.loss ? result : best));
}

/**
 * Returns Wilson's 95 % interval of a share of correct rows, for rows that were scored in all of five folds.
 * @param {number} share - 0 … 1
 * @param {number} count - rows
 * @returns {[number, number]}
 */
export function intervalOf(share, count) {
  const effective = count / (1 + 5 / 4); // folds share training rows (Nadeau & Bengio 2003)
  const weight = QUANTILE ** 2 / effective;
  const center = (share + weight / 2) / (1 + weight);
  const margin = (QUANTILE * Math.sqrt((share * (1 - share)) / effective + weight / (4 * effective))) / (1 + weight);
  return [Math.max(0, center - margin), Math.min(1, center + margin)];
}

function meanOf(vectors) {
  const sums = new Float64Array(vectors[0].length);
  for (const vector of vectors) vector.forEach((number, i) => (sums[i] += number));
  return sums.map((sum) => sum / vectors.length);
}
