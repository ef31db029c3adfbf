/**
 * Searches passages by meaning and by words: the cosine of vectors and BM25, both standardised for the query.
 *
 * A word that no passage has counts for the indexed words that are nearest to it, and the encoder reads the query with
 * the likeliest of them, too. A word that a passage has is never changed.
 */

import { Bm25 } from "./bm25.js";
import { Encoder } from "./encoder.js";
import { folded, joinedWords } from "./index_words.js";
import { NearWords } from "./near_words.js";
import { normalizeUnit } from "./words.js";

const WORDS_SHARE = 0.25; // of BM25 in the score; the rest is the cosine's
const NEAR_SHARE = 0.8; // of an exact word's score, for a word that may be misspelt or unfinished
const MOST_RESULTS = 20;
const MOST_CANDIDATES = 20 * MOST_RESULTS; // best passages that are looked at: few share a sentence with another one
const MOST_MARKS = 4; // words of a result that are marked because of their meaning
const MARKED_SHARE = 0.4; // of the weight of the rarest word of the query; "the" and "of" are not marked
const TERMS_OF_CODE = 3; // a joined word with digits counts as so many words: its meaning says little
const HAS_DIGIT = /\p{N}/u;
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
 * @property {number} fit - half of the similarity and half of the share of the query's words that the passage has
 * @property {number} similarity - the cosine of the vectors of query and passage
 * @property {string} [link] - of the document
 * @property {string} [file] - of the document
 * @property {[number, number][]} found - UTF-16 offsets of the rarer words of the query in the passage
 */

/**
 * @typedef {object} Answer
 * @property {Result[]} results - best first
 * @property {string} corrected - the query with the words that were searched for, as a person reads it
 * @property {boolean} fits - whether a passage answers the query
 */

/** @typedef {{word: string, form: string, start: number, end: number}} Word - as it is indexed, and as it is spelt */

/** @typedef {{word: Word, units: string[], share: number}} Term - indexed units that count for a word of the query */

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
    this.leastFit = manifest.least_fit;
    this.lengths = this.passages.map((_, place) => {
      let squares = 0;
      for (let i = place * this.width; i < (place + 1) * this.width; i++) squares += this.vectors[i] ** 2;
      return Math.sqrt(squares) || 1;
    });
    this.formOfUnit = new Map();
    this.spellings = new Map(); // a word → how it is first spelt
    this.forms = new Set(); // all spellings
    this.bm25 = new Bm25(this.passages.map((_, place) => this.#allWords(this.textOf(place)).map(({ word, form }) => {
      this.forms.add(form);
      if (!this.spellings.has(word)) this.spellings.set(word, form);
      return word;
    })));
    this.nearWords = new NearWords(this.bm25);
  }

  /** Returns the text of a passage, below its heading. */
  textOf(place) {
    const { document, start, end, section } = this.passages[place];
    const { headings, sentences } = this.documents[document];
    return `${headings[section]}\n${sentences.slice(start, end).join("").trim()}`.trim();
  }

  /**
   * Returns the best passages. Of passages with a common sentence only the best is returned.
   * @param {string} query
   * @param {boolean} [isExact] - whether no word may be misspelt or unfinished
   * @returns {Answer}
   */
  search(query, isExact = false) {
    if (!query.trim()) return { results: [], corrected: query, fits: true };
    const terms = this.#termsOf(query, isExact);
    const similarities = this.similarities(this.#vectorOf(query, terms));
    const { scores: words, coverage } = this.bm25.match(terms);
    const [meaning, wording] = [standardised(similarities), standardised(words)];
    const scores = meaning.map((value, place) => (1 - WORDS_SHARE) * value + WORDS_SHARE * wording[place]);
    const wanted = this.#rarestUnits(terms);
    const results = this.#best(scores).map((place) => {
      const { document, section } = this.passages[place];
      const { title, link, file, headings } = this.documents[document];
      const passage = this.textOf(place);
      const found = apart(this.#allWords(passage).filter(({ word }) => wanted.has(word)));
      const [score, similarity] = [scores[place], similarities[place]];
      const fit = (similarity + coverage[place]) / 2;
      return { document: title, heading: headings[section], passage, score, fit, similarity, link, file, found };
    });
    const write = (units, { word }) => (units[0] !== word ? shownUnits(units.map((unit) => this.spellings.get(unit)), word) : null);
    return { results, corrected: withTerms(query, terms, write), fits: results.some(({ fit }) => fit >= this.leastFit) };
  }

  /**
   * Returns a term for each word of a query: the word itself, or the indexed words that are nearest to it; and one for each
   * joined word that a passage has. Then its parts that none has are no terms.
   */
  #termsOf(query, isExact) {
    const units = this.#words(query);
    const joined = this.#joinedWords(query, units).filter(({ word }) => this.bm25.countOf(word));
    const isPart = ({ start, end }) => joined.some((whole) => whole.start <= start && end <= whole.end);
    const words = units.filter((word) => this.bm25.countOf(word.word) || !isPart(word));
    const terms = words.map((word) => {
      const near = isExact || this.bm25.countOf(word.word) ? [] : this.nearWords.of(word.word, word.end === query.length);
      return near.length ? { word, units: near, share: NEAR_SHARE } : { word, units: [word.word], share: 1 };
    });
    const times = ({ word }) => (HAS_DIGIT.test(word) ? TERMS_OF_CODE : 1);
    return [...terms, ...joined.flatMap((word) => Array(times(word)).fill({ word, units: [word.word], share: 1 }))];
  }

  /** Returns the vector of a query; with other words or spellings than were written, between those of both readings. */
  #vectorOf(query, terms) {
    const corrected = withTerms(query, terms, ([likeliest], { word, form }) =>
      likeliest === word && this.forms.has(form) ? null : this.spellings.get(likeliest));
    const vectors = this.encoder.encode(corrected === query ? [query] : [query, corrected]);
    const sum = vectors[0].map((_, column) => vectors.reduce((total, vector) => total + vector[column], 0));
    const length = Math.hypot(...sum) || 1;
    return sum.map((number) => number / length);
  }

  /** Returns the units of the rarer words of a query. */
  #rarestUnits(terms) {
    const weights = terms.map(({ units }) => Math.max(...units.map((unit) => this.bm25.weightOf(this.bm25.countOf(unit)))));
    const isFound = terms.map(({ units }) => units.some((unit) => this.bm25.countOf(unit)));
    const rarest = Math.max(...weights.filter((_, index) => isFound[index]));
    return new Set(terms.filter((_, index) => weights[index] >= MARKED_SHARE * rarest).flatMap(({ units }) => units));
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
  wordsNearInMeaning(query, passages, isExact = false) {
    const vector = this.#vectorOf(query, this.#termsOf(query, isExact));
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

  /** Returns the words of a text and those that marks join, with their places. */
  #allWords(text) {
    const units = this.#words(text);
    return [...units, ...this.#joinedWords(text, units)];
  }

  /** Returns the words of a text that marks join, see `joinedWords`, without those that are units. */
  #joinedWords(text, units) {
    const words = joinedWords(text).map(({ text: word, start, end }) => (
      { word: folded(this.#formOf(word)), form: this.#formOf(text.slice(start, end)), start, end }));
    const known = new Set(words.length ? units.map(({ word }) => word) : []);
    return words.filter(({ word }) => !known.has(word));
  }

  /** Returns the units of a text that are words, in lower case, with their places. */
  #words(text) {
    const words = [];
    for (const { text: unit, start, end } of this.encoder.tokenizer.split(text, 0)) {
      const form = this.#formOf(unit);
      if (form) words.push({ word: folded(form), form, start, end });
    }
    return words;
  }

  /** Returns a unit in lower case and in its normal form, "" if it is no word. */
  #formOf(unit) {
    let word = this.formOfUnit.get(unit);
    if (word === undefined) {
      const { splitter, splitter_options: options } = this.encoder.tokenizer.settings;
      word = IS_WORD.test(unit) ? normalizeUnit(unit, splitter, { ...options, lowercase: true }) : "";
      this.formOfUnit.set(unit, word);
    }
    return word;
  }
}

/** Returns the places of words without those that begin within another one, which is longer. */
function apart(words) {
  const places = words.map(({ start, end }) => [start, end]).sort((one, other) => one[0] - other[0] || other[1] - one[1]);
  let last = 0;
  return places.filter(([start, end]) => start >= last && (last = end));
}

/** Returns a query with what `write` makes of the units of each term in place of its word, unless it is nothing. */
function withTerms(query, terms, write) {
  let [text, position] = ["", 0];
  for (const { word, units } of terms.slice().sort((one, other) => one.word.start - other.word.start)) {
    const written = word.start < position ? null : write(units, word);
    if (!written) continue;
    text += query.slice(position, word.start) + written.normalize("NFC");
    position = word.end;
  }
  return text + query.slice(position);
}

/** Returns the likeliest of the units that a person may have meant; "port…" if several words begin so. */
function shownUnits(units, word) {
  return units.length > 1 && units.every((unit) => unit.startsWith(word)) ? `${word}…` : units[0];
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
