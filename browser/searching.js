/** Answers queries, the newest first: the results at once, and then the words that are near in meaning. */

import { Searcher } from "./searcher.js";

/**
 * @param {{manifest: object, documents: string, weights: ArrayBuffer, vectors: ArrayBuffer}} parts of the page
 * @param {(message: object) => void} send takes `{query, results, ms}`, then `{query, near}`; or `{failure}`
 * @returns {Promise<(query: string) => void>}
 */
export async function createSearch({ manifest, documents, weights, vectors }, send) {
  const searcher = new Searcher(manifest, JSON.parse(documents), weights, vectors);
  searcher.search("warm"); // the browser compiles the program
  let newest = null;
  return (query) => {
    newest = query;
    setTimeout(() => {
      if (newest !== query) return; // a newer one waits
      try {
        answer(query);
      } catch (error) {
        send({ failure: error.message });
      }
    });
  };

  function answer(query) {
    const start = performance.now();
    const results = searcher.search(query);
    send({ query, results, ms: performance.now() - start });
    setTimeout(() => {
      if (newest === query) send({ query, near: searcher.nearWords(query, results.map(({ passage }) => passage)) });
    });
  }
}
