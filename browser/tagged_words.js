/** The words of a text with their tags, and the legend of the tags. */

import { percent } from "./answers.js";
import { drawWords, legendItem } from "./word_drawing.js";

const COLOURS = 8; // in page.css; further kinds of tags begin again with the first
const OUTSIDE = "O"; // the label of words without a tag

/** `B-PER` and `I-PER` are the same kind, PER. */
function kindOf(label) {
  return label.replace(/^[BI]-/, "");
}

function kindsOf(labels) {
  return [...new Set(labels.map(kindOf))].filter((kind) => kind !== OUTSIDE);
}

/** Draws the legend: the kinds of tags. */
export function drawTagLegend(place, labels) {
  place.replaceChildren(
    ...kindsOf(labels).map((kind, index) => legendItem(`unit tag colour-${index % COLOURS} sample`, kind, "")),
  );
}

/**
 * @param {HTMLElement} place
 * @param {HTMLElement} detail the line that explains one word
 * @param {string[]} labels
 * @param {{text: string, pair?: string}} input
 * @param {object} answer with a label and probabilities for each unit
 */
export function drawTaggedWords(place, detail, labels, input, answer) {
  const kinds = kindsOf(labels);
  const summary = answer.units.length ? "Point at a word, or move to it, to see its probabilities." : "\u00a0";
  drawWords(place, detail, input, answer.units, summary, (button, index) => {
    markTag(button, answer.label[index], answer.label[index + 1], kinds);
    return sentenceOfTags(button.textContent, labels, answer.probabilities[index]);
  });
}

/** Colours a tagged word. A name of several words (`B-PER`, `I-PER`) is one strip, with its kind behind the last word. */
function markTag(button, label, next, kinds) {
  const kind = kindOf(label);
  if (kind === OUTSIDE) return;
  button.classList.add("tag", `colour-${kinds.indexOf(kind) % COLOURS}`);
  const goesOn = next !== undefined && next.startsWith("I-") && kindOf(next) === kind;
  if (goesOn) button.classList.add("goes-on");
  else button.dataset.kind = kind;
}

/** The word with its likeliest labels, at most three. */
function sentenceOfTags(word, labels, probabilities) {
  const order = labels.map((_, label) => label).sort((one, other) => probabilities[other] - probabilities[one]);
  const likeliestLabels = order.slice(0, 3).map((label) => `${labels[label]} ${percent(probabilities[label])}`);
  return `“${word}”: ${likeliestLabels.join(", ")}`;
}
