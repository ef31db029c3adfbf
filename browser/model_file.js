/** Reads the file that `vocabless javascript` writes: a line of JSON, then the weights. */

const NEWLINE = 10;
const NODE_FILES = "node:fs/promises";

/**
 * Returns a model.
 * @param {import("./vocabless.d.ts").Source} [source] - default: `model.bin` beside this module
 * @returns {Promise<{manifest: object, weights: ArrayBuffer}>}
 * @throws {Error} the file cannot be loaded, or is not of this kind
 */
export async function readModel(source = new URL("./model.bin", import.meta.url)) {
  const buffer = await bytesOf(source);
  const end = new Uint8Array(buffer).indexOf(NEWLINE);
  try {
    const manifest = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 0, end)));
    return { manifest, weights: buffer.slice(end + 1) };
  } catch {
    throw new Error("this is no model; give a model.bin that `vocabless javascript` has written.");
  }
}

/** Returns the content of an address, of a file on the disk (in Node), of a `Blob`, or of bytes. */
async function bytesOf(source) {
  if (typeof source !== "string" && !(source instanceof URL)) return new Response(source).arrayBuffer();
  if (globalThis.process?.versions?.node && !/^(?:https?|data|blob):/i.test(source)) {
    const { readFile } = await import(/* @vite-ignore */ NODE_FILES); // a name here would make bundlers look for it
    return new Response(await readFile(/^file:/i.test(source) ? new URL(source) : source)).arrayBuffer();
  }
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${source} cannot be loaded: the server answers ${response.status}.`);
  return response.arrayBuffer();
}
