/** The word map: each word is left out once, and its shade says how it pulls. Place and colour both say which way. */

import { numberText, percent } from "./answers.js";
import { pullsOf } from "./pulls.js";
import { drawWords, legendItem, shortened } from "./word_drawing.js";

const FULL_SHADE = 1; // logits; a text whose words all pull less is shaded lightly
const FAINT = 0.08; // share of the strongest pull below which a word stays blank

/** Draws the legend of the map that explains `label`, null while there is no text. */
export function drawPullLegend(place, task, label) {
  const [towards, away] = waysOf(task, label);
  const items = [
    legendItem("unit towards sample", "word", `pulls ${towards}`),
    legendItem("unit away sample", "word", `pulls ${away}`),
  ];
  if (task !== "regression") items.push(legendItem("unit flips sample", "word", "the label changes without it"));
  place.replaceChildren(...items);
}

/**
 * @param {HTMLElement} place
 * @param {HTMLElement} detail the line that explains one word
 * @param {object} state of the page: manifest, input, answer, without, isDone
 * @param {number} target index of the label that the map explains
 */
export function drawWordMap(place, detail, { manifest, input, answer, without, isDone }, target) {
  const pulls = pullsOf(manifest, answer, without, target);
  const strongest = Math.max(0, ...pulls.map(({ strength }) => Math.abs(strength)));
  const scale = Math.max(strongest, manifest.task === "regression" ? 0.01 : FULL_SHADE);
  const ways = waysOf(manifest.task, manifest.labels[target]);
  const summary = isDone ? summaryOf(answer.units, pulls, ways) : "Leaving out each word once …";
  drawWords(place, detail, input, answer.units, summary, (button, index) => {
    const pull = pulls[index];
    if (!pull) return undefined;
    const share = Math.abs(pull.strength) / scale;
    if (share > FAINT) button.classList.add(pull.strength > 0 ? "towards" : "away");
    if (pull.flips) button.classList.add("flips");
    button.style.setProperty("--strength", share.toFixed(3));
    return sentenceOf(manifest, answer, target, button.textContent, pull);
  });
}

/** The two ways in which a word can pull, in words. */
function waysOf(task, label) {
  return task === "regression" ? ["up", "down"] : [`towards ${label ?? "the label"}`, `away from ${label ?? "the label"}`];
}

function sentenceOf(manifest, answer, target, word, pull) {
  if (manifest.task === "regression") {
    return `Without “${word}”: ${numberText(pull.without)} (with it ${numberText(answer.logits[0])}).`;
  }
  const label = manifest.labels[target];
  const change = `${percent(answer.probabilities[target])} → ${percent(pull.without)}`;
  return `Without “${word}”: ${label} ${change}${pull.flips ? ". The label changes." : "."}`;
}

/** What the line under the map says while no word is touched. */
function summaryOf(units, pulls, [towards, away]) {
  if (pulls.length === 0) return "\u00a0";
  if (pulls.length < units.length) return `The text is long: the map covers its first ${pulls.length} words.`;
  const flips = units.filter((_, index) => pulls[index].flips);
  if (flips.length === 1) return `Leaving out “${shortened(flips[0].text)}” changes the label.`;
  if (flips.length > 1) return `Leaving out any one of the ${flips.length} outlined words changes the label.`;
  const strongest = pulls.reduce((best, pull, index) => (Math.abs(pull.strength) > Math.abs(pulls[best].strength) ? index : best), 0);
  return `“${shortened(units[strongest].text)}” pulls most: ${pulls[strongest].strength > 0 ? towards : away}.`;
}
