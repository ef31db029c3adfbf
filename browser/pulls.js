/** How each word pulls: the answer for the whole text beside the answers without each of its words. */

import { isGiven, logSumExp } from "./predictions.js";

/**
 * @typedef {object} Pull
 * @property {number} strength logit of the target with the word minus that without it; > 0 pulls towards the target.
 *   For a regression it is the difference of the numbers.
 * @property {boolean} flips whether leaving the word out changes the answer
 * @property {number} without probability of the target without the word; for a regression the number
 */

/**
 * @param {object} manifest its task is single_label, multi_label or regression
 * @param {object} answer for the whole text
 * @param {object[]} without answers without each word
 * @param {number} target index of a label
 * @returns {Pull[]}
 */
export function pullsOf(manifest, answer, without, target) {
  const { task } = manifest;
  const margin = MARGINS[task];
  const whole = margin(answer.logits, target);
  return without.map((other) => ({
    strength: whole - margin(other.logits, target),
    flips: FLIPS[task](answer, other, target, manifest),
    without: task === "regression" ? other.logits[0] : other.probabilities[target],
  }));
}

/** Index of the label that the word map explains if the person chose none; 0 for a number. */
export function likeliest(answer) {
  return Math.max(0, answer.probabilities.indexOf(Math.max(...answer.probabilities)));
}

/** Task → how far the logits are on the side of the target. One label: its log-odds. */
const MARGINS = {
  single_label: (logits, target) => logits[target] - logSumExp(logits.filter((_, label) => label !== target)),
  multi_label: (logits, target) => logits[target],
  regression: (logits) => logits[0],
};

const FLIPS = {
  single_label: (answer, other) => likeliest(answer) !== likeliest(other),
  multi_label: (answer, other, target, manifest) =>
    isGiven(manifest, answer.probabilities[target]) !== isGiven(manifest, other.probabilities[target]),
  regression: () => false,
};
