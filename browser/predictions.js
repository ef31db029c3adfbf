/** Logits → probabilities and labels, for each task. */

/** The logarithm of the sum of the powers of e. */
export function logSumExp(numbers) {
  const largest = Math.max(...numbers);
  return largest + Math.log(numbers.reduce((sum, number) => sum + Math.exp(number - largest), 0));
}

/** The probabilities of logits. */
export function softmax(logits) {
  const total = logSumExp(logits);
  return logits.map((logit) => Math.exp(logit - total));
}

/** Whether one of several labels is given; a model that was saved before its limit was chosen has none. */
export const isGiven = ({ threshold }, probability) => probability >= (threshold ?? 0.5);

/** The most likely label of a text. */
function oneLabel(logits, { labels }) {
  return { logits, probabilities: softmax(logits), label: labels[logits.indexOf(Math.max(...logits))] };
}

/** Every label of a text whose probability reaches the limit: sigmoid. */
function manyLabels(logits, manifest) {
  const probabilities = logits.map((logit) => 1 / (1 + Math.exp(-logit)));
  return { logits, probabilities, label: manifest.labels.filter((_, index) => isGiven(manifest, probabilities[index])) };
}

/** A number: there are no probabilities. */
function aNumber(logits) {
  return { logits, probabilities: [], label: String(logits[0]) };
}

/**
 * Task → what it makes of logits.
 * - `isOfUnits`: whether each unit has a prediction, not the text; the results are then lists.
 * - `predict`: (logits, manifest) → {logits, probabilities, label}
 */
export const TASKS = {
  single_label: { isOfUnits: false, predict: oneLabel },
  multi_label: { isOfUnits: false, predict: manyLabels },
  regression: { isOfUnits: false, predict: aNumber },
  tags: { isOfUnits: true, predict: oneLabel },
};
