/** The answer for a whole text: the verdict in one line, and a bar for each label. */

import { make } from "./frame.js";
import { isGiven } from "./predictions.js";
import { likeliest } from "./pulls.js";

const MOST_BARS = 8; // of a model with more labels, the likeliest are shown

/** A probability for people: 0.9834 → "98.3 %". It never claims certainty. */
export function percent(probability) {
  if (probability > 0.9995) return "> 99.9 %";
  if (probability < 0.0005) return "< 0.1 %";
  return `${(100 * probability).toFixed(1)} %`;
}

/** A predicted number with three significant digits. */
export function numberText(number) {
  return Number(number.toPrecision(3)).toString().replace("-", "\u2212");
}

/** Writes the verdict: a label, labels or a number. */
export function drawVerdict(place, manifest, answer) {
  const [main, extra] = verdictOf(manifest, answer);
  place.replaceChildren(make("strong", {}, main), make("span", {}, extra));
}

/** The verdict as a sentence for a screen reader. */
export function sayVerdict(manifest, answer) {
  return answer.units.length ? verdictOf(manifest, answer).filter(Boolean).join(", ") : "";
}

function verdictOf(manifest, answer) {
  return answer.units.length ? VERDICTS[manifest.task](manifest, answer) : ["–", "Write a text"];
}

const UNFAMILIAR = "unlike the training texts"; // the reason of the last label, if the classifier rejects

/** Task → (manifest, answer) → the verdict and its figure. */
const VERDICTS = {
  single_label: ({ labels, rejects }, answer) => {
    const label = likeliest(answer);
    const isRejected = rejects && label === labels.length - 1;
    return [labels[label], isRejected ? UNFAMILIAR : percent(answer.probabilities[label])];
  },
  multi_label: ({ labels, rejects }, { label: given }) => [
    given.length ? given.join(", ") : "no label",
    rejects && given.includes(labels.at(-1)) ? UNFAMILIAR : `${given.length} of ${labels.length - !!rejects} labels`,
  ],
  regression: (_, answer) => [numberText(answer.logits[0]), "predicted number"],
  tags: (_, answer) => {
    const tagged = answer.label.filter((label) => label !== "O").length;
    return [`${tagged} of ${answer.units.length} words are tagged`, ""];
  },
};

/**
 * Draws a row for each label. A row is a button: the word map then explains its label. All rows are there from the start.
 *
 * @param {HTMLElement} place
 * @param {object} manifest
 * @param {object | null} answer null before the first one
 * @param {number | null} chosen index of the label that the person chose for the map
 * @param {(label: number | null) => void} choose
 */
export function drawBars(place, manifest, answer, chosen, choose) {
  const hasBars = manifest.task === "single_label" || manifest.task === "multi_label";
  if (!hasBars) return;
  const shown = labelsToShow(manifest.labels, answer);
  while (place.children.length < shown.length) place.append(emptyBar());
  if (shown.length < manifest.labels.length && place.children.length === shown.length) {
    place.append(make("p", { className: "note" }, `The ${shown.length} likeliest of ${manifest.labels.length} labels`));
  }
  const explained = answer && (chosen ?? likeliest(answer));
  shown.forEach((label, index) => {
    const row = place.children[index];
    const [name, , figure] = row.children;
    const probability = answer?.probabilities[label] ?? 0;
    name.textContent = manifest.labels[label];
    name.title = manifest.labels[label];
    figure.textContent = answer ? percent(probability) : "–";
    row.style.setProperty("--share", probability.toFixed(4));
    row.setAttribute("aria-pressed", String(label === explained));
    const wins = answer && (manifest.task === "multi_label" ? isGiven(manifest, probability) : label === likeliest(answer));
    row.classList.toggle("wins", Boolean(wins));
    row.onclick = () => choose(label === chosen ? null : label);
  });
}

/** Indices of the labels to show: all in the model's order, or the likeliest of many. */
function labelsToShow(labels, answer) {
  const all = labels.map((_, label) => label);
  if (labels.length <= MOST_BARS) return all;
  if (answer) all.sort((one, other) => answer.probabilities[other] - answer.probabilities[one]);
  return all.slice(0, MOST_BARS);
}

function emptyBar() {
  const cells = ["name", "track", "figure"].map((className) => make("span", { className }));
  cells[1].append(make("span"));
  return make("button", { type: "button", className: "bar" }, ...cells);
}
