/**
 * Reads texts with the classifier, the newest first. The label comes at once, and then the word map in small steps: when a
 * newer text waits, the rest of an older map is not computed.
 */

import { loadClassifier } from "./classifier.js";
import { newMessages } from "./model_worker.js";

const STEP_MS = 60; // a step of the map takes about this long; a new text waits for no longer
const MOST_MAP_MS = 8000; // the map of a long text ends here, with its first words
const SHOW_MAP_AFTER_MS = 500; // a map that takes longer is shown in parts

/** Loads the classifier of a page; returns its reader, see `createReader`. */
export async function createReading({ manifest, weights }, send) {
  return createReader(await loadClassifier(manifest, weights), send);
}

/**
 * @param {object} classifier what `loadClassifier` returned
 * @param {(message: object) => void} send takes `{input, answer}`, then `{without, isDone}` one or more times, where
 *   `without[i]` is the answer for the text without its unit i; after the first text `{ms}`; or `{failure}`
 * @returns {(input: {text: string, pair?: string}) => void}
 */
function createReader(classifier, send) {
  let newest = null;
  let isBusy = false;
  let isWarm = false;
  return async (input) => {
    newest = input;
    if (isBusy) return;
    isBusy = true;
    try {
      while (newest) await readOne();
    } catch (error) {
      newest = null;
      send({ failure: error.message });
    }
    isBusy = false;
  };

  async function readOne() {
    const input = newest;
    newest = null;
    const [answer] = await classifier.classify([input]);
    send({ input, answer });
    if (classifier.manifest.task !== "tags") await readMap(answer.units);
    if (!isWarm && !newest) await measureAgain(input);
  }

  /** The first answer takes long because the browser compiles the program; this is what the next ones take. */
  async function measureAgain(input) {
    isWarm = true;
    const [{ ms }] = await classifier.classify([input]);
    send({ ms });
  }

  async function readMap(units) {
    const started = performance.now();
    const without = [];
    let shown = started;
    let size = 8;
    while (without.length < units.length) {
      await newMessages();
      const before = performance.now();
      if (newest || before - started > MOST_MAP_MS) break;
      const end = Math.min(units.length, without.length + size);
      without.push(...(await classifier.withoutEachUnit(units, without.length, end)));
      const now = performance.now();
      size = Math.max(1, Math.min(2 * size, Math.round((size * STEP_MS) / (now - before))));
      if (now - shown > SHOW_MAP_AFTER_MS && without.length < units.length) {
        shown = now;
        send({ without, isDone: false });
      }
    }
    if (!newest) send({ without, isDone: true });
  }
}
