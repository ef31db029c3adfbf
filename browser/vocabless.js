/**
 * Sentence vectors and labels for other people's pages and for Node: the parts of our pages as one module.
 *
 * `vocabless.d.ts` describes what it exports.
 */

import { loadClassifier } from "./classifier.js";
import { Encoder as SentenceEncoder } from "./encoder.js";
import { readModel } from "./model_file.js";
import { listOfTexts } from "./texts.js";

export class Encoder extends SentenceEncoder {
  static async load(source) {
    const { manifest, weights } = await readModel(source);
    if (!manifest.dimensions) throw new TypeError("this model is a classifier; load it with Classifier.load.");
    return new Encoder(manifest, weights);
  }
}

export class Classifier {
  #classifier;

  static async load(source) {
    const { manifest, weights } = await readModel(source);
    if (!manifest.labels) throw new TypeError("this model is a sentence encoder; load it with Encoder.load.");
    return new Classifier(await loadClassifier(manifest, weights));
  }

  constructor(classifier) {
    const { task, labels, threshold = 0.5, is_pair: isPair } = classifier.manifest;
    Object.assign(this, { task, labels, threshold, isPair });
    this.#classifier = classifier;
  }

  async classify(texts) {
    return this.#classifier.classify(listOfTexts(texts, this.isPair).map((each) => {
      const [text, pair] = [].concat(each);
      return { text, pair };
    }));
  }
}
