/** A classifier in the page, without any other program: loads the exported graph and its weights. */

import { Classifier } from "./batches.js";
import { Graph } from "./graph.js";

/**
 * @typedef {object} Manifest - what the exporter writes; all names are those of conversion/space_export/manifest.py
 * @property {string} title
 * @property {"single_label" | "multi_label" | "regression" | "tags"} task
 * @property {string[]} labels - in the order of the logits
 * @property {number} [threshold] - probability from which on one of several labels is given; default: 0.5
 * @property {boolean} [rejects] - whether the last label is for texts that are turned away
 * @property {boolean} is_pair
 * @property {import("./tokenizer.js").TokenizerSettings} tokenizer
 * @property {(string | string[])[]} examples
 * @property {string | null} model_card - address
 * @property {import("./graph.js").GraphDescription} graph
 */

/**
 * Returns a classifier, see `Classifier` for what it does.
 * @param {Manifest} manifest
 * @param {ArrayBuffer} weights
 * @returns {Promise<Classifier>}
 */
export async function loadClassifier(manifest, weights) {
  const graph = new Graph(manifest.graph, weights);
  return new Classifier(manifest, async (data, dims) => graph.run({ type: "int", data, dims }).logits);
}
