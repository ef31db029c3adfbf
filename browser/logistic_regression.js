/**
 * Logistic regression with a penalty on the squared weights, the same as scikit-learn's `LogisticRegression(C=strength)`.
 *
 * The loss is convex, so L-BFGS finds the one minimum that every good solver finds.
 */

import { logSumExp } from "./predictions.js";

const ABSENT = -10; // logit of a label without a row, as in training/finetuning/problems.py
const MEMORY = 10; // steps that L-BFGS remembers
const MOST_STEPS = 1000;
const TOLERANCE = 1e-7; // of the largest element of the gradient
const ROUNDING = 1e-12; // of the loss; a smaller rise is no rise

/**
 * Returns the weights (labels, D) and biases (labels,) of a model of n rows.
 * @param {Float64Array[]} vectors - (n, D)
 * @param {number[]} targets - the label of each row, 0 … labels − 1; a label may have no row
 * @param {number} labels
 * @param {number} strength - inverse regularisation, scikit-learn's C
 * @returns {{weight: Float64Array[], bias: Float64Array}}
 */
export function logisticRegression(vectors, targets, labels, strength) {
  const width = vectors[0].length;
  const weight = Array.from({ length: labels }, () => new Float64Array(width));
  const bias = new Float64Array(labels).fill(ABSENT);
  const present = [...new Set(targets)].sort((one, other) => one - other);
  if (present.length === 1) {
    bias[present[0]] = 0;
    return { weight, bias };
  }
  // Of two labels, scikit-learn learns the difference w of their weights. As ±w/2, it has half of the penalty.
  const penalty = (present.length === 2 ? 2 : 1) / strength;
  const rows = targets.map((target) => present.indexOf(target));
  const loss = (point, gradient) => lossOf(vectors, rows, penalty, point, gradient);
  const found = minimize(loss, present.length * (width + 1));
  present.forEach((label, place) => {
    weight[label].set(found.subarray(place * (width + 1), (place + 1) * (width + 1) - 1));
    bias[label] = found[(place + 1) * (width + 1) - 1];
  });
  return { weight, bias };
}

/** Returns the natural logarithms of the probabilities of some logits. */
export function logProbabilities(logits) {
  const total = logSumExp(logits);
  return logits.map((logit) => logit - total);
}

/**
 * Returns the sum of the rows' cross-entropies and half the penalty times the squared weights; writes its gradient.
 * @param {Float64Array} point - of each label the weights and then the bias
 */
function lossOf(vectors, targets, penalty, point, gradient) {
  const width = vectors[0].length;
  const starts = Array.from({ length: point.length / (width + 1) }, (_, label) => label * (width + 1));
  let loss = 0;
  gradient.fill(0);
  for (const start of starts) {
    for (let i = start; i < start + width; i++) {
      loss += (penalty / 2) * point[i] ** 2;
      gradient[i] = penalty * point[i];
    }
  }
  vectors.forEach((vector, row) => {
    const logits = starts.map((start) => {
      let sum = point[start + width];
      for (let i = 0; i < width; i++) sum += point[start + i] * vector[i];
      return sum;
    });
    const logs = logProbabilities(logits);
    loss -= logs[targets[row]];
    starts.forEach((start, label) => {
      const error = Math.exp(logs[label]) - (label === targets[row] ? 1 : 0);
      for (let i = 0; i < width; i++) gradient[start + i] += error * vector[i];
      gradient[start + width] += error;
    });
  });
  return loss;
}

/**
 * Returns where a smooth convex function has its minimum (L-BFGS, Nocedal & Wright 2006, algorithm 7.5).
 * @param {(point: Float64Array, gradient: Float64Array) => number} evaluate - returns the value; writes the gradient
 * @param {number} size - of a point
 */
function minimize(evaluate, size) {
  let point = new Float64Array(size);
  let gradient = new Float64Array(size);
  let value = evaluate(point, gradient);
  const memory = [];
  for (let count = 0; count < MOST_STEPS && gradient.some((number) => Math.abs(number) > TOLERANCE); count++) {
    const direction = directionOf(gradient, memory);
    const slope = dot(direction, gradient);
    const next = new Float64Array(size);
    const nextGradient = new Float64Array(size);
    let length = memory.length ? 1 : 1 / Math.sqrt(-slope);
    const move = () => {
      for (let i = 0; i < size; i++) next[i] = point[i] + length * direction[i];
      return evaluate(next, nextGradient);
    };
    let nextValue = move();
    while (nextValue > value + 1e-4 * length * slope + ROUNDING * Math.abs(value)) {
      length /= 2;
      nextValue = move();
    }
    const step = next.map((number, i) => number - point[i]);
    const change = nextGradient.map((number, i) => number - gradient[i]);
    const product = dot(step, change);
    [point, gradient, value] = [next, nextGradient, nextValue];
    if (!(product > 0)) break; // rounding is larger than the step
    memory.push({ step, change, product });
    if (memory.length > MEMORY) memory.shift();
  }
  return point;
}

/** Returns minus the gradient times the inverse Hessian that the last steps tell. */
function directionOf(gradient, memory) {
  const direction = gradient.map((number) => -number);
  const add = (vector, factor) => vector.forEach((number, i) => (direction[i] += factor * number));
  const shares = memory.map(() => 0);
  for (let i = memory.length - 1; i >= 0; i--) {
    shares[i] = dot(memory[i].step, direction) / memory[i].product;
    add(memory[i].change, -shares[i]);
  }
  if (memory.length) {
    const { change, product } = memory[memory.length - 1];
    const scale = product / dot(change, change);
    direction.forEach((number, i) => (direction[i] = scale * number));
  }
  memory.forEach(({ step, change, product }, i) => add(step, shares[i] - dot(change, direction) / product));
  return direction;
}

function dot(one, other) {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += one[i] * other[i];
  return sum;
}
