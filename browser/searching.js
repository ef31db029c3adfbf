/** Answers queries, the newest first: the results at once, and then the words that are near in meaning. */

import { Searcher } from "./searcher.js";

/**
 * @param {{manifest: object, documents: string, weights: ArrayBuffer, vectors: ArrayBuffer}} parts of the page
 * @param {(message: object) => void} send takes `{query, isExact, ms}` with an `Answer`, then `{query, near}`; or `{failure}`
 * @returns {Promise<(question: {query: string, isExact: boolean}) => void>} searches for the words as they are written
 *     if `isExact`
 */
export async function createSearch({ manifest, documents, weights, vectors }, send) {
  const searcher = new Searcher(manifest, JSON.parse(documents), weights, vectors);
  searcher.search("warm"); // the browser compiles the program
  let newest = null;
  return (question) => {
    newest = question;
    setTimeout(() => {
      if (newest !== question) return; // a newer one waits
      try {
        answer(question);
      } catch (error) {
        send({ failure: error.message });
      }
    });
  };

  function answer(question) {
    const { query, isExact } = question;
    const start = performance.now();
    const found = searcher.search(query, isExact);
    send({ query, isExact, ...found, ms: performance.now() - start });
    setTimeout(() => {
      if (newest !== question || !found.fits) return; // no word is near where nothing fits
      send({ query, near: searcher.wordsNearInMeaning(query, found.results.map(({ passage }) => passage), isExact) });
    });
  }
}
