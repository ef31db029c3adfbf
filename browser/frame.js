/** What every page has, see `frame.html`: its elements, a voice for screen readers, and the sentence of a failure. */

export const element = (id) => document.getElementById(id);

/** Makes an element with some properties, which holds some nodes or texts. */
export function make(tag, properties, ...content) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...content);
  return made;
}

/** Shows the link to the model card, if its address is one of the web. */
export function linkToCard({ model_card: href }) {
  if (/^https?:\/\//.test(href ?? "")) Object.assign(element("model-card"), { href, hidden: false });
}

/** A duration for people: "4.2 ms", or "120 ms". */
export function timeText(ms) {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

let speech;

/** Lets a screen reader say a sentence when the person has paused for `pauseMs`. */
export function speak(sentence, pauseMs) {
  clearTimeout(speech);
  speech = setTimeout(() => (element("spoken").textContent = sentence), pauseMs);
}

/** Copies a text; `place` says for two seconds whether the browser permits it, and then `usual` again. */
export async function copyText(text, place, usual, copied, refused) {
  try {
    await navigator.clipboard.writeText(text);
    place.textContent = copied;
  } catch {
    place.textContent = refused;
  }
  setTimeout(() => (place.textContent = usual), 2000);
}

/** Says why the page does not work; `part` is what does not run, "model" or "search". */
export function showFailure(error, part = "model") {
  element("note").textContent = `The ${part} does not run here: ${error.message ?? error} Try a newer browser.`;
  document.documentElement.dataset.failure = String(error.message ?? error);
}
