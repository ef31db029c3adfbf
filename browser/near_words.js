/** The indexed words that a misspelt or an unfinished word of a query may be. Accents never count. */

import { bare } from "./index_words.js";

const SHORT = 4; // letters from which one edit is forgiven
const LONG = 8; // letters from which two are
const MOST_ENDING = 3; // letters that may follow, as in "passwords" for "pasword"
const LEAST_BEGINNING = 3; // letters of an unfinished word
const LEAST_MISSPELT_BEGINNING = 5; // letters of an unfinished word that is misspelt, too
const IS_NUMBER = /\p{N}/u; // numbers and codes are not forgiven: another one is another thing

export class NearWords {
  /** @param {import("./bm25.js").Bm25} bm25 - the index of the words */
  constructor(bm25) {
    this.bm25 = bm25;
    this.wordsOf = new Map(); // first letter → the words, and their letters
    for (const word of bm25.ids.keys()) {
      const letters = Array.from(bare(word));
      if (!this.wordsOf.has(letters[0])) this.wordsOf.set(letters[0], []);
      this.wordsOf.get(letters[0]).push({ word, letters });
    }
    this.found = new Map(); // a word, and whether it may be unfinished → what `of` returns
  }

  /**
   * Returns the nearest indexed words of a word that no passage has, the likeliest first: those with the fewest edits.
   *
   * An edit inserts, drops or replaces a letter or swaps two; it leaves the first letter, or swaps it. A few letters may
   * follow, and behind an unfinished word any number.
   * @param {string} word
   * @param {boolean} isUnfinished - whether a person may still be writing it
   * @returns {string[]}
   */
  of(word, isUnfinished) {
    const key = `${isUnfinished} ${word}`;
    if (!this.found.has(key)) this.found.set(key, this.#search(Array.from(bare(word)), isUnfinished));
    return this.found.get(key);
  }

  #search(letters, isUnfinished) {
    const count = letters.length;
    const isForgiven = count >= SHORT && !IS_NUMBER.test(letters.join(""));
    const mayEnd = (edits, rest) =>
      edits + rest === 0 || (isForgiven && rest <= MOST_ENDING) || (isUnfinished && count >= (edits ? LEAST_MISSPELT_BEGINNING : LEAST_BEGINNING));
    let near = [];
    let least = !isForgiven ? 0 : count < LONG ? 1 : 2;
    for (const { word, letters: candidate } of this.#beginningLike(letters)) {
      const [edits, rest] = editsToBeginning(letters, candidate, least);
      if (edits > least || !mayEnd(edits, rest)) continue;
      if (edits < least) near = [];
      least = edits;
      near.push({ word, rest });
    }
    const isWhole = ({ rest }) => rest <= MOST_ENDING;
    if (least > 0 && near.some(isWhole)) near = near.filter(isWhole);
    const likelihood = ({ word, rest }) => (rest ? 0 : this.bm25.numPassages) + this.bm25.countOf(word) / (1 + rest);
    return near.sort((one, other) => likelihood(other) - likelihood(one)).map(({ word }) => word);
  }

  /** Returns the words with the same first letter, and those with the same two first letters in the other order. */
  #beginningLike([first, second]) {
    const swapped = second === first ? [] : (this.wordsOf.get(second) ?? []).filter(({ letters }) => letters[1] === first);
    return [...(this.wordsOf.get(first) ?? []), ...swapped];
  }
}

/**
 * Returns the least number of edits that make a word the beginning of another one, and how many letters follow there,
 * as few as possible. The distance is that of optimal string alignment: a swap of neighbours is one edit.
 * @param {string[]} word - letters
 * @param {string[]} other - letters
 * @param {number} most - with more edits the result is `[most + 1, 0]`
 * @returns {[number, number]}
 */
export function editsToBeginning(word, other, most) {
  const none = [most + 1, 0];
  const width = Math.min(other.length, word.length + most);
  if (width < word.length - most) return none;
  let [before, last, row] = [0, 1, 2].map(() => new Uint8Array(width + 1)); // rows of the table, at most `most` + 1
  for (let j = 1; j <= width; j++) last[j] = Math.min(j, most + 1);
  let lowestBefore = 0;
  for (let i = 1; i <= word.length; i++) {
    row.fill(most + 1);
    if (i <= most) row[0] = i;
    let lowest = row[0];
    for (let j = Math.max(1, i - most); j <= Math.min(width, i + most); j++) {
      const cost = word[i - 1] === other[j - 1] ? 0 : 1;
      let edits = Math.min(last[j - 1] + cost, last[j] + 1, row[j - 1] + 1, most + 1);
      const isSwap = cost && i > 1 && j > 1 && word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1];
      if (isSwap) edits = Math.min(edits, before[j - 2] + 1);
      row[j] = edits;
      lowest = Math.min(lowest, edits);
    }
    if (lowest > most && lowestBefore > most) return none;
    [before, last, row, lowestBefore] = [last, row, before, lowest];
  }
  const edits = Math.min(...last);
  return edits > most ? none : [edits, other.length - last.lastIndexOf(edits)];
}
