/** A classifier over onnxruntime-web, for models that the page's own interpreter is too slow for. */

import { Classifier } from "./batches.js";

const PROGRAM = "ort.wasm.min.mjs"; // the part of onnxruntime-web that computes on the CPU

/**
 * Returns a classifier, see `Classifier` for what it does.
 * @param {import("./classifier.js").Manifest & {onnxruntime: string}} manifest - `onnxruntime` is the address of the
 *     folder `dist` of onnxruntime-web
 * @param {ArrayBuffer} weights - the ONNX model
 * @returns {Promise<Classifier>}
 */
export async function loadClassifier(manifest, weights) {
  const ort = await import(manifest.onnxruntime + PROGRAM);
  ort.env.wasm.wasmPaths = manifest.onnxruntime;
  ort.env.wasm.numThreads = 1; // more threads need HTTP headers that a static page does not have
  const session = await ort.InferenceSession.create(new Uint8Array(weights), {
    executionProviders: ["wasm"],
    extra: { session: { disable_quant_qdq: "1" } }, // activations stay floats
  });
  return new Classifier(manifest, async (data, dims) => {
    const blocks = new ort.Tensor("int64", BigInt64Array.from(data, BigInt), dims);
    return (await session.run({ input_ids: blocks })).logits;
  });
}
