/** What every page has, see `frame.html`: its elements, a voice for screen readers, and the sentence of a failure. */

export const element = (id) => document.getElementById(id);

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

/** Says why the page does not work; `part` is what does not run, "model" or "search". */
export function showFailure(error, part = "model") {
  element("note").textContent = `The ${part} does not run here: ${error.message ?? error} Try a newer browser.`;
  document.documentElement.dataset.failure = String(error.message ?? error);
}
