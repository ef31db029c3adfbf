/** Words with an answer of their own: tags, and words that do not belong. */

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

/** Draws the legend: the kinds of tags, or the shades of a word that does not belong. */
export function drawMarkLegend(place, { task, labels }) {
  const items =
    task === "tags"
      ? kindsOf(labels).map((kind, index) => legendItem(`unit tag colour-${index % COLOURS} sample`, kind, ""))
      : [legendItem("unit odd sample", "word", "does not belong here"), legendItem("unit odd flips sample", "word", "probably wrong (more than 50 %)")];
  place.replaceChildren(...items);
}

/**
 * @param {HTMLElement} place
 * @param {HTMLElement} detail the line that explains one word
 * @param {object} manifest
 * @param {{text: string, pair?: string}} input
 * @param {object} answer with a label and probabilities for each unit
 */
export function drawMarkedWords(place, detail, manifest, input, answer) {
  const kinds = kindsOf(manifest.labels);
  const summary = answer.units.length ? "Point at a word, or move to it, to see its probabilities." : "\u00a0";
  drawWords(place, detail, input, answer.units, summary, (button, index) => {
    const probabilities = answer.probabilities[index];
    if (manifest.task === "tags") markTag(button, answer.label[index], answer.label[index + 1], kinds);
    else markOdd(button, probabilities);
    return sentenceOfMark(button.textContent, manifest.labels, probabilities);
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

/** Shades a word by how little it belongs; the first class of the pre-training head is the intact word. */
function markOdd(button, probabilities) {
  const odd = 1 - probabilities[0];
  button.className = odd >= 0.5 ? "unit odd flips" : "unit odd";
  button.style.setProperty("--strength", odd.toFixed(3));
}

/** The word with its likeliest labels, at most three. */
function sentenceOfMark(word, labels, probabilities) {
  const order = labels.map((_, label) => label).sort((one, other) => probabilities[other] - probabilities[one]);
  const likeliestLabels = order.slice(0, 3).map((label) => `${labels[label]} ${percent(probabilities[label])}`);
  return `“${word}”: ${likeliestLabels.join(", ")}`;
}
