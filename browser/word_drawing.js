/** Draws the words of a text as buttons that the arrow keys reach, with the text between them as it was written. */

const MOST_WORDS = 600; // drawn; no page needs more, and a browser draws these at once
const MOST_CHARACTERS = 300; // drawn of a word or of the rest; a browser needs n² steps for n marks on a letter

/**
 * @param {HTMLElement} place
 * @param {{text: string, pair?: string}} input
 * @param {{start: number, end: number, part: number}[]} units
 * @param {(index: number) => Node} draw makes the node of a unit
 */
export function drawWords(place, input, units, draw) {
  const paragraphs = [input.text, input.pair].filter((text) => text !== undefined).map((text, part) => {
    const paragraph = document.createElement("p");
    let position = 0;
    units.slice(0, MOST_WORDS).forEach((unit, index) => {
      if (unit.part !== part) return;
      paragraph.append(text.slice(position, unit.start), draw(index));
      position = unit.end;
    });
    if (text.slice(position).trim()) paragraph.append(unread(text.slice(position)));
    return paragraph;
  });
  const focused = [...place.querySelectorAll("button")].indexOf(document.activeElement);
  place.replaceChildren(...paragraphs);
  const buttons = [...place.querySelectorAll("button")];
  buttons.forEach((button, index) => (button.tabIndex = index === Math.max(focused, 0) ? 0 : -1));
  if (focused >= 0) buttons[focused]?.focus();
}

/** The beginning of the text that the model does not read. */
function unread(text) {
  const rest = document.createElement("span");
  rest.className = "unread";
  rest.textContent = shortened(text);
  return rest;
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
export function explainOnTouch(button, detail, sentence, otherwise) {
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
  const item = document.createElement("span");
  const swatch = document.createElement("span");
  swatch.className = className;
  swatch.textContent = sample;
  item.className = "legend-item";
  item.append(swatch, meaning);
  return item;
}
