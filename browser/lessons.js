/** Draws what was learned: the accuracy with its interval, and the texts that the model is least sure of. */

import { make } from "./frame.js";

const MOST_ROWS = 5;
const REMOVED = "\0"; // no label has this name

/** Writes the share of texts that were labelled right when held out, and the interval around it. */
export function drawAccuracy(element, { accuracy, interval: [low, high], constant, rows }) {
  const right = Math.round(accuracy * rows.length);
  element("accuracy").textContent = whole(accuracy);
  element("count").textContent = `${right} of ${rows.length} texts are right when it has not learned them`;
  const mayBeChance = low <= constant ? " So this may be chance: give it more texts." : "";
  element("interval").textContent =
    `Of other texts like these, ${whole(low)} to ${whole(high)} will be right (95 % sure). ` +
    `The most frequent label alone is right for ${whole(constant)}.${mayBeChance}`;
  const style = element("scale").style;
  Object.entries({ share: accuracy, low, high, chance: constant })
    .forEach(([name, value]) => style.setProperty(`--${name}`, `${(100 * value).toFixed(2)}%`));
}

/** Returns the same in words, for a screen reader. */
export function sayAccuracy({ accuracy, interval, rows }) {
  return `${whole(accuracy)} of ${rows.length} texts are right, ${interval.map(whole).join(" to ")} of others.`;
}

/** A share in whole percent. */
export function whole(share) {
  return `${Math.round(100 * share)} %`;
}

/**
 * Draws the texts whose own label got the smallest probability when they were held out, each with a choice of labels.
 * @param {HTMLElement} place
 * @param {import("./teaching.js").Lesson} lesson
 * @param {string[]} names - of all labels
 * @param {(row: {text: string, label: string}, to: string | null) => void} move
 */
export function drawUnsure(place, { labels, rows }, names, move) {
  const hadFocus = place.contains(document.activeElement);
  const own = ({ label, probabilities }) => probabilities[labels.indexOf(label)];
  const unsure = rows.slice().sort((one, other) => own(one) - own(other)).slice(0, MOST_ROWS);
  place.replaceChildren(...unsure.map((row) => drawRow(row, labels, names, move)));
  place.classList.remove("old");
  if (hadFocus) place.querySelector("select")?.focus();
}

function drawRow(row, labels, names, move) {
  const best = row.probabilities.indexOf(Math.max(...row.probabilities));
  const says = labels[best] === row.label ? "agrees" : `says ${labels[best]}`;
  const text = make("p", { className: "text", dir: "auto", title: row.text }, row.text);
  const guess = make("p", { className: "guess", dir: "auto" }, `It ${says}: ${whole(row.probabilities[best])}`);
  const options = names.map((name) => new Option(name, name, false, name === row.label));
  const ariaLabel = `Label of: ${row.text.slice(0, 100)}`;
  const select = make("select", { ariaLabel }, ...options, new Option("Remove this text", REMOVED));
  select.addEventListener("change", () => move(row, select.value === REMOVED ? null : select.value));
  return make("li", {}, text, guess, select);
}
