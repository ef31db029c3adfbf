/** Reads what the page holds beside its text. */

/**
 * Reads the weights from the page, or from `weights.js` beside it.
 *
 * @returns {Promise<{buffer: ArrayBuffer, lengthBeside: number}>} the weights, and the bytes of the file beside the page
 */
export async function readWeights() {
  const inline = document.getElementById("weights").textContent.trim();
  if (inline) return { buffer: bytesOfBase64(inline), lengthBeside: 0 };
  const script = document.createElement("script");
  script.src = "weights.js";
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error("weights.js is not beside this page; keep both files in one folder."));
    document.head.append(script);
  });
  const text = globalThis.vocablessWeights;
  delete globalThis.vocablessWeights;
  return { buffer: bytesOfBase64(text), lengthBeside: text.length };
}

export function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
}

export function sizeText(bytes) {
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
