/** How the words of passages and of queries are indexed: in one form of each letter, and with the words that marks join. */

const LETTERS = { ß: "ss", œ: "oe", æ: "ae", ĳ: "ij" };
const BARE_LETTERS = { ł: "l", đ: "d", ø: "o", ı: "i" };
// Scripts without spaces, their punctuation, and what stands around a word end a run; so do apostrophes.
const RUN = /[^\s\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}\u3000-\u303f\uff00-\uffef,;!?()[\]{}<>"'«»“”„‘’…·•|`*=~]+/gu;
const MOST_JOINED = 64; // UTF-16 units; longer runs are addresses
const IS_JOINED = /[\p{L}\p{N}].*[^\p{L}\p{M}\p{N}]|[^\p{L}\p{M}\p{N}].*[\p{L}\p{N}]/u;
const HYPHEN = /(?<=\p{L}\p{M}*)[-\u00ad\u2010\u2011](?=\p{L})/gu;

/** Returns a word in lower case with one spelling of its letters: `straße` and `strasse` are the same. */
export function folded(word) {
  return word.replace(/[ßœæĳ]/g, (letter) => LETTERS[letter]);
}

/** Returns a word without accents. */
export function bare(word) {
  const letters = word.normalize("NFD").replace(/[\u0300-\u036f]/g, "").normalize("NFC");
  return letters.replace(/[łđøı]/g, (letter) => BARE_LETTERS[letter]);
}

/**
 * Returns the words of a text that marks join, `1.2.3`, `C++` or `co-operative`, with their places: runs without white space.
 * A hyphen between letters is left out, so that `cooperative` is the same word.
 * @param {string} text
 * @returns {{text: string, start: number, end: number}[]}
 */
export function joinedWords(text) {
  const found = [];
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const start = run.match(/^[-:/\\&+_%]*/)[0].length;
    const word = run.slice(start).replace(/[-.:/\\&_@$]+$/, "");
    if (word.length > MOST_JOINED || !IS_JOINED.test(word)) continue;
    found.push({ text: word.replace(HYPHEN, ""), start: index + start, end: index + start + word.length });
  }
  return found;
}
