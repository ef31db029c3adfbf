/** Runs the model in a worker, so that the page answers to the person at all times. */

import { createReader } from "./reading.js";
import { loadClassifier } from "./classifier.js";

/**
 * Starts the model. The worker is a Blob of the page's own program: a page of one file has no other place for it. Where
 * no worker starts, the model runs in the page.
 *
 * @param {string} program the text of the page's script
 * @param {object} manifest
 * @param {ArrayBuffer} weights
 * @param {(message: object) => void} receive takes the messages of `createReader`
 * @returns {Promise<(input: {text: string, pair?: string}) => void>} sends a text to the model
 */
export async function startModel(program, manifest, weights, receive) {
  try {
    return await startWorker(program, manifest, weights, receive);
  } catch {
    return createReader(await loadClassifier(manifest, weights), receive);
  }
}

function startWorker(program, manifest, weights, receive) {
  return new Promise((resolve, reject) => {
    const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
    const worker = new Worker(address, { type: "module" });
    worker.onerror = reject;
    worker.onmessage = ({ data }) => {
      if (!data.isReady) return receive(data);
      URL.revokeObjectURL(address);
      worker.onerror = (event) => receive({ failure: event.message });
      resolve((input) => worker.postMessage({ input }));
    };
    worker.postMessage({ manifest, weights });
  });
}
