/** Reads what the page holds beside its text. */

import { element } from "./frame.js";

// Before the program draws anything. In a worker there is no page.
const pageBytes = typeof document === "undefined" ? 0 : new Blob([document.documentElement.outerHTML]).size;

/** Returns the content of an element that holds JSON. */
export const jsonOf = (id) => JSON.parse(element(id).textContent);

/**
 * Reads the weights from the page, or from `weights.js` beside it, and shows how large the page is with them.
 * @returns {Promise<ArrayBuffer>}
 */
export async function readWeights() {
  const inline = element("weights").textContent.trim();
  element("figure-size").textContent = sizeText(pageBytes);
  if (inline) return bytesOfBase64(inline);
  const script = document.createElement("script");
  script.src = "weights.js";
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error("weights.js is not beside this page; keep both files in one folder."));
    document.head.append(script);
  });
  const text = globalThis.vocablessWeights;
  delete globalThis.vocablessWeights;
  element("figure-size").textContent = sizeText(pageBytes + text.length);
  return bytesOfBase64(text);
}

export function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
}

function sizeText(bytes) {
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
