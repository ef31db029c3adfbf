/** Searches passages by meaning and by words: the cosine of vectors and BM25, both standardised for the query. */

import { Bm25 } from "./bm25.js";
import { Encoder } from "./encoder.js";
import { normalizeUnit } from "./words.js";

const WORDS_SHARE = 0.25; // of BM25 in the score; the rest is the cosine's
const MOST_RESULTS = 20;
const MOST_CANDIDATES = 20 * MOST_RESULTS; // best passages that are looked at: few share a sentence with another one
const MOST_MARKS = 4; // words of a result that are marked because of their meaning
const MARKED_SHARE = 0.4; // of the weight of the rarest word of the query; "the" and "of" are not marked
const IS_WORD = /[\p{L}\p{N}]/u; // punctuation says nothing about a passage

/**
 * @typedef {object} Document
 * @property {string} title
 * @property {string} [link]
 * @property {string} [file] - its path, of a document without a link
 * @property {string[]} headings - of each section, "" for none; with lines for those of sections without text
 * @property {string[]} sentences - of all sections
 * @property {[number, number, number][]} passages - of each the first sentence, the one behind its last, and the section
 */

/**
 * @typedef {object} Result
 * @property {string} document - its title
 * @property {string} heading - above the passage
 * @property {string} passage - its text, with the heading as its first lines
 * @property {number} score - of meaning and words together
 * @property {number} similarity - the cosine of the vectors of query and passage
 * @property {string} [link] - of the document
 * @property {string} [file] - of the document
 * @property {[number, number][]} found - UTF-16 offsets of the rarer words of the query in the passage
 */

export class Searcher {
  /**
   * @param {object} manifest - what conversion/search.py writes
   * @param {Document[]} documents
   * @param {ArrayBuffer} weights
   * @param {ArrayBuffer} vectors - numbers of `manifest.bits` bits, int8 or float32, those of each passage after another
   */
  constructor(manifest, documents, weights, vectors) {
    this.encoder = new Encoder(manifest, weights);
    this.documents = documents;
    this.passages = documents.flatMap(({ passages }, document) => passages.map(([start, end, section]) => ({ document, start, end, section })));
    this.vectors = manifest.bits === 8 ? new Int8Array(vectors) : new Float32Array(vectors);
    this.width = manifest.dimensions;
    this.lengths = this.passages.map((_, place) => {
      let squares = 0;
      for (let i = place * this.width; i < (place + 1) * this.width; i++) squares += this.vectors[i] ** 2;
      return Math.sqrt(squares) || 1;
    });
    this.wordOfUnit = new Map();
    this.bm25 = new Bm25(this.passages.map((_, place) => this.#words(this.textOf(place)).map(({ word }) => word)));
  }

  /** Returns the text of a passage, below its heading. */
  textOf(place) {
    const { document, start, end, section } = this.passages[place];
    const { headings, sentences } = this.documents[document];
    return `${headings[section]}\n${sentences.slice(start, end).join("").trim()}`.trim();
  }

  /**
   * Returns the best passages, best first. Of passages with a common sentence only the best is returned.
   * @param {string} query
   * @returns {Result[]}
   */
  search(query) {
    if (!query.trim()) return [];
    const words = this.#words(query).map(({ word }) => word);
    const similarities = this.similarities(this.encoder.encode([query])[0]);
    const [meaning, wording] = [standardised(similarities), standardised(this.bm25.scores(words))];
    const scores = meaning.map((value, place) => (1 - WORDS_SHARE) * value + WORDS_SHARE * wording[place]);
    const rarest = Math.max(...words.map((word) => this.bm25.weightOf(word)));
    const wanted = new Set(words.filter((word) => this.bm25.weightOf(word) >= MARKED_SHARE * rarest));
    return this.#best(scores).map((place) => {
      const { document, section } = this.passages[place];
      const { title, link, file, headings } = this.documents[document];
      const passage = this.textOf(place);
      const found = this.#words(passage).filter(({ word }) => wanted.has(word)).map(({ start, end }) => [start, end]);
      const [score, similarity] = [scores[place], similarities[place]];
      return { document: title, heading: headings[section], passage, score, similarity, link, file, found };
    });
  }

  /** Returns the cosine of a vector of length 1 and each passage's. */
  similarities(vector) {
    const similarities = new Float64Array(this.passages.length);
    for (let place = 0, i = 0; place < similarities.length; place++) {
      let sum = 0;
      for (let column = 0; column < this.width; column++, i++) sum += vector[column] * this.vectors[i];
      similarities[place] = sum / this.lengths[place];
    }
    return similarities;
  }

  /**
   * Returns for each passage the UTF-16 offsets of the words whose meaning is nearest to the query's.
   *
   * The vector of a passage is the mean of its tokens' vectors, so each word has a share in its similarity.
   * @param {string} query
   * @param {string[]} passages
   * @returns {[number, number][][]}
   */
  nearWords(query, passages) {
    const [vector] = this.encoder.encode([query]);
    return this.encoder.encodeWords(passages).map(({ units, ofUnits }) => {
      const shares = ofUnits.map((numbers) => numbers.reduce((sum, number, i) => sum + number * vector[i], 0));
      const [mean, deviation] = momentsOf(shares);
      const near = units.map((unit, i) => ({ ...unit, share: shares[i] }))
        .filter(({ text, share }) => IS_WORD.test(text) && share > mean + deviation / 2);
      near.sort((one, other) => other.share - one.share);
      return near.slice(0, MOST_MARKS).map(({ start, end }) => [start, end]);
    });
  }

  /** Returns the places of the best passages, without those that share a sentence with a better one. */
  #best(scores) {
    const limit = scores.slice().sort().at(-Math.min(scores.length, MOST_CANDIDATES));
    const order = Array.from(scores.keys()).filter((place) => scores[place] >= limit);
    order.sort((one, other) => scores[other] - scores[one]);
    const best = [];
    for (const place of order) {
      if (best.length === MOST_RESULTS) break;
      const own = this.passages[place];
      const overlaps = (other) => own.document === other.document && own.start < other.end && other.start < own.end;
      if (!best.some((other) => overlaps(this.passages[other]))) best.push(place);
    }
    return best;
  }

  /** Returns the units of a text that are words, in lower case, with their places. */
  #words(text) {
    const words = [];
    for (const { text: unit, start, end } of this.encoder.tokenizer.split(text, 0)) {
      const word = this.#wordOf(unit);
      if (word) words.push({ word, start, end });
    }
    return words;
  }

  /** Returns a unit in lower case and in its normal form, "" if it is no word. */
  #wordOf(unit) {
    let word = this.wordOfUnit.get(unit);
    if (word === undefined) {
      const { splitter, splitter_options: options } = this.encoder.tokenizer.settings;
      word = IS_WORD.test(unit) ? normalizeUnit(unit, splitter, { ...options, lowercase: true }) : "";
      this.wordOfUnit.set(unit, word);
    }
    return word;
  }
}

/** Returns numbers minus their mean, over their standard deviation; zeros where all are the same. */
function standardised(numbers) {
  const [mean, deviation] = momentsOf(numbers);
  return numbers.map((number) => (deviation ? (number - mean) / deviation : 0));
}

function momentsOf(numbers) {
  const count = Math.max(1, numbers.length);
  const mean = numbers.reduce((sum, number) => sum + number, 0) / count;
  return [mean, Math.sqrt(numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0) / count)];
}
