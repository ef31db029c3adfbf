/**
 * Splitters: text → units, and the form of a unit that is encoded. The same rules as tokenization/splitters.py.
 *
 * A unit is cut from the unchanged text and normalised alone: lower-casing a whole text would choose another form of
 * the Greek final sigma.
 */

import { formsOf } from "./forms.js";
import { CONTINUES, SPACE, WORD, ZEROS, scriptRuns } from "./scripts.js";

/**
 * @typedef {object} Unit
 * @property {string} text - the piece of the text, not normalised
 * @property {number} start - UTF-16 offset of its beginning
 * @property {number} end - UTF-16 offset behind its end
 * @property {number} part - 0 in the first text, 1 in the second text of a pair
 * @property {boolean} [isMask] - whether it is a mask token
 * @property {Uint8Array} [bytes] - the unit itself where it is a window of bytes
 */

const NOT_SPACE = new RegExp(`[^${SPACE}]+`, "gu");
const LONG_RUN_OF_MARKS = /[\p{M}\uff9e\uff9f]{30,}/gu; // longer than in any natural text: Unicode's Stream-Safe Text Format (UAX 15)
const DIGITS = new Map(
  ZEROS.flatMap((zero) => Array.from("0123456789", (value) => [String.fromCodePoint(zero + Number(value)), value])));
const [LOWEST_MARK, HIGHEST_MARK] = ["\u0334", "\u0345"]; // by their combining class

/**
 * Returns a function that cuts a text into units.
 * @param {string} name - `word`, `whitespace`, `scripts` or `bytes`
 * @param {{lowercase?: boolean, window?: number, fold_forms?: boolean | number, forms?: object}} options
 * @returns {(text: string, part: number) => Unit[]}
 */
export function makeSplitter(name, options) {
  return SPLITTERS[name](options);
}

/**
 * Returns the form of a unit that the coder reads.
 * @param {string} text
 * @param {string} splitter - `scripts` has NFKD and the digits 0–9, all others NFC
 * @param {{lowercase?: boolean, fold_forms?: boolean | number, forms?: object}} options - of the splitter
 * @returns {string}
 */
export function normalizeUnit(text, splitter, options) {
  const { lowercase } = options;
  if (/^[\0-\x7f]*$/.test(text)) return lowercase ? text.toLowerCase() : text;
  const form = splitter === "scripts" ? "NFKD" : "NFC";
  const folds = formsOf(options);
  let composed = normalForm(text, folds ? "NFKD" : form);
  if (form === "NFKD") composed = Array.from(composed, (character) => DIGITS.get(character) ?? character).join("");
  if (folds) composed = folds.foldUnit(composed);
  return lowercase || folds ? normalForm(lowercase ? composed.toLowerCase() : composed, form) : composed;
}

/**
 * Returns a text in a normal form of Unicode, NFC or NFKD, in linear time.
 *
 * Browsers sort a run of n marks in up to n² steps. So a long run is sorted here first, by the same rule.
 */
function normalForm(text, form) {
  return text.replace(LONG_RUN_OF_MARKS, (marks) => inCanonicalOrder(marks, form.replace("C", "D"))).normalize(form);
}

/** Returns marks decomposed, with those between two marks of class 0 sorted by their combining class. */
function inCanonicalOrder(marks, decomposition) {
  const decomposed = Array.from(marks, (mark) => Array.from(mark.normalize(decomposition))).flat();
  const distinct = Array.from(new Set(decomposed));
  const moving = distinct.filter((mark) => isBehind(mark, LOWEST_MARK) || isBehind(HIGHEST_MARK, mark));
  moving.sort((first, second) => isBehind(first, second) - isBehind(second, first));
  const ranks = new Map(); // mark → rank of its class; JavaScript has no table of the classes
  let rank = 0;
  moving.forEach((mark, index) => ranks.set(mark, index && isBehind(mark, moving[index - 1]) ? ++rank : rank));
  const runs = [[]];
  for (const mark of decomposed) {
    if (ranks.has(mark)) runs.at(-1).push(mark);
    else runs.push([mark], []);
  }
  return runs.map((run) => run.sort((first, second) => ranks.get(first) - ranks.get(second)).join("")).join("");
}

/** Returns whether the combining class of a mark is above that of another, so that normalising swaps them. */
function isBehind(mark, other) {
  return (mark + other).normalize("NFD") !== mark + other;
}

/**
 * Returns the UTF-8 bytes of a text. A lone surrogate becomes three bytes; `TextEncoder` would replace it.
 * @param {string} text
 * @returns {Uint8Array}
 */
export function utf8Bytes(text) {
  const bytes = [];
  for (const character of text) {
    const code = character.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else {
      bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    }
  }
  return Uint8Array.from(bytes);
}

/** Returns the matches of a pattern as units. */
function matches(text, part, pattern) {
  const found = Array.from(text.matchAll(pattern));
  return found.map(({ 0: piece, index }) => ({ text: piece, start: index, end: index + piece.length, part }));
}

/** Returns windows of `window` bytes of the text's UTF-8; `text` is what holds the characters that they touch. */
function byteWindows(text, part, window) {
  const bytes = utf8Bytes(text);
  const startOf = []; // UTF-16 offset of the character that contains byte b
  const endOf = [];
  let offset = 0;
  for (const character of text) {
    for (let left = utf8Bytes(character).length; left > 0; left--) {
      startOf.push(offset);
      endOf.push(offset + character.length);
    }
    offset += character.length;
  }
  const units = [];
  for (let first = 0; first < bytes.length; first += window) {
    const behind = Math.min(first + window, bytes.length);
    const [start, end] = [startOf[first], endOf[behind - 1]];
    units.push({ text: text.slice(start, end), start, end, part, bytes: bytes.slice(first, behind) });
  }
  return units;
}

/** Returns the pattern of words and other runs; `invisible` characters continue a unit, and begin none. */
function wordRuns(invisible) {
  const first = `[^${WORD}${SPACE}${invisible}]`;
  return new RegExp(`[${WORD}][${WORD}${CONTINUES}${invisible}]*|${first}(?:[^${WORD}${SPACE}]|[${CONTINUES}])*`, "gu");
}

/** Returns a splitter by a pattern, which is made with the invisible characters that units may hold. */
function runSplitter(makePattern, options) {
  const folds = formsOf(options);
  const pattern = makePattern(folds ? folds.invisible : "");
  return (text, part) => matches(folds ? folds.foldText(text) : text, part, pattern);
}

const SPLITTERS = {
  word: (options) => runSplitter(wordRuns, options),
  whitespace: () => (text, part) => matches(text, part, NOT_SPACE),
  scripts: (options) => runSplitter((invisible) => scriptRuns(options.window, invisible), options),
  bytes: ({ window }) => (text, part) => byteWindows(text, part, window),
};
