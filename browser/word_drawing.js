/** Draws the words of a text as buttons that the arrow keys reach, with the text between them as it was written. */

import { make } from "./frame.js";

const MOST_WORDS = 600; // drawn; no page needs more, and a browser draws these at once
const MOST_CHARACTERS = 300; // drawn of a word or of the rest; a browser needs n² steps for n marks on a letter

/**
 * @param {HTMLElement} place
 * @param {HTMLElement} detail the line that explains one word
 * @param {{text: string, pair?: string}} input
 * @param {{text: string, start: number, end: number, part: number}[]} units
 * @param {string} summary stands in `detail` while no word is touched
 * @param {(button: HTMLElement, index: number) => string | undefined} dress gives the button of a unit its look, and
 *     returns the sentence that explains it
 */
export function drawWords(place, detail, input, units, summary, dress) {
  const draw = (unit, index) => {
    const button = make("button", { type: "button", className: "unit" }, shortened(unit.text));
    const sentence = dress(button, index);
    if (sentence === undefined) return button;
    button.setAttribute("aria-label", sentence);
    explainOnTouch(button, detail, sentence, summary);
    return button;
  };
  const paragraphs = [input.text, input.pair].filter((text) => text !== undefined).map((text, part) => {
    const paragraph = make("p");
    let position = 0;
    units.slice(0, MOST_WORDS).forEach((unit, index) => {
      if (unit.part !== part) return;
      paragraph.append(text.slice(position, unit.start), draw(unit, index));
      position = unit.end;
    });
    const rest = text.slice(position); // the model does not read it
    if (rest.trim()) paragraph.append(make("span", { className: "unread" }, shortened(rest)));
    return paragraph;
  });
  const focused = [...place.querySelectorAll("button")].indexOf(document.activeElement);
  place.replaceChildren(...paragraphs);
  const buttons = [...place.querySelectorAll("button")];
  buttons.forEach((button, index) => (button.tabIndex = index === Math.max(focused, 0) ? 0 : -1));
  if (focused >= 0) buttons[focused]?.focus();
  if (!place.contains(document.activeElement)) detail.textContent = summary;
}

/** Returns a word, or the rest of a text, as the page shows it. */
export function shortened(text) {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}

/** Makes one stop of the Tab key of all words in `place`; the arrow keys move between them. */
export function moveByArrowKeys(place) {
  const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };
  const buttons = () => [...place.querySelectorAll("button")];
  place.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    const now = buttons().indexOf(document.activeElement);
    if (!step || now < 0) return;
    event.preventDefault();
    buttons()[Math.min(Math.max(now + step, 0), buttons().length - 1)].focus();
  });
  place.addEventListener("focusin", ({ target }) => buttons().forEach((button) => (button.tabIndex = button === target ? 0 : -1)));
}

/** Writes `sentence` into `detail` while the pointer or the focus is on `button`, and `otherwise` after it. */
function explainOnTouch(button, detail, sentence, otherwise) {
  const explain = () => (detail.textContent = sentence);
  const stop = () => (detail.textContent = otherwise);
  button.addEventListener("pointerenter", explain);
  button.addEventListener("focus", explain);
  button.addEventListener("click", explain);
  button.addEventListener("pointerleave", () => document.activeElement !== button && stop());
  button.addEventListener("blur", stop);
}

/** One item of a legend: a sample with the look of the class, and what it means. */
export function legendItem(className, sample, meaning) {
  return make("span", { className: "legend-item" }, make("span", { className }, sample), meaning);
}
