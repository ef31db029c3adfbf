/** The sentences of texts, and what a text and its sentences say together: `sentences.py` and `join_sentences` in Python. */

import { softmax } from "./predictions.js";

const FIRST_BYTE = 5; // the element of byte 0; smaller ones are special tokens
const SHORTEST = 3; // units of a sentence, its mark among them
const MOST_AT_ONCE = 64; // sentences
const LEAST_SAID = 1e-3; // of a sentence
const LARGEST = 600; // logit whose exponential, and that of the negative one, is finite and not 0
const SALUTATION = 6; // first units of a text, after which a comma ends a sentence, too, by the rule "odds"
const MARKS = elementsOf(".!?…。！？｡؟।۔");
const COMMAS = elementsOf(",，،");

/**
 * Returns the sentences of the texts that have more than one, some of similar length together.
 * @param {Float64Array} data - blocks of texts, padded with 0
 * @param {number[]} dims - (rows, tokens, K)
 * @param {true | string} rule - see `RULES` in Python
 * @returns {{texts: number[], data: Float64Array, dims: number[]}[]} the text of each sentence, and the sentences as texts
 */
export function sentencesOf(data, [rows, width, size], rule) {
  const found = []; // {text, places}, the places of a sentence's tokens in `data`
  for (let text = 0; text < rows; text++) {
    const tokens = Array.from({ length: width }, (_, token) => (text * width + token) * size).filter((place) => data[place]);
    const numSpecial = tokens.filter((place) => data[place] < FIRST_BYTE).length;
    if (numSpecial !== 2 || tokens.length < 2 * SHORTEST + 2) continue;
    const lastEarly = rule === "odds" ? tokens[SALUTATION] : -1;
    const isOf = (marks) => (place) => begins(data, place, size, marks);
    const spans = spansOf(tokens.slice(1, -1), tokens.at(-1), isOf(MARKS), (place) => place <= lastEarly && isOf(COMMAS)(place));
    if (spans.length < 2) continue;
    found.push(...spans.map((span) => ({ text, places: [tokens[0], ...span, tokens.at(-1)] })));
  }
  found.sort((one, other) => one.places.length - other.places.length);
  const batches = [];
  while (found.length) {
    const sentences = found.splice(0, MOST_AT_ONCE);
    const longest = sentences.at(-1).places.length;
    const read = new Float64Array(sentences.length * longest * size);
    sentences.forEach(({ places }, sentence) => {
      places.forEach((place, token) => read.set(data.subarray(place, place + size), (sentence * longest + token) * size));
    });
    batches.push({ texts: sentences.map(({ text }) => text), data: read, dims: [sentences.length, longest, size] });
  }
  return batches;
}

/** Returns the units of each sentence; `end` is the token behind the last unit. */
function spansOf(units, end, isMark, endsSalutation) {
  const spans = [[]];
  units.forEach((unit, index) => {
    const last = spans.at(-1);
    last.push(unit);
    const isLastMark = isMark(unit) && !isMark(units[index + 1] ?? end);
    if ((isLastMark || endsSalutation(unit)) && last.length >= SHORTEST) spans.push([]);
  });
  if (spans.length > 1 && spans.at(-1).length < SHORTEST) {
    const rest = spans.pop();
    spans.at(-1).push(...rest);
  }
  return spans;
}

function elementsOf(marks) {
  return Array.from(marks, (mark) => Array.from(new TextEncoder().encode(mark), (byte) => byte + FIRST_BYTE));
}

function begins(data, place, size, marks) {
  return marks.some((mark) => mark.length <= size && mark.every((element, index) => data[place + index] === element));
}

/**
 * Returns the logits of a text that also say what its sentences do: the probabilities are a mean of those of the whole
 * text and of those of its sentences together, by a rule.
 * @param {number[]} logits - of the whole text
 * @param {number[][]} ofSentences - of each sentence
 * @param {true | string} rule - see `RULES` in Python
 */
export function joinSentences(logits, ofSentences, rule) {
  const parts = ofSentences.map(RULES[rule]);
  const sums = logits.map((_, label) => parts.reduce((sum, part) => sum + part[label], 0));
  const total = sums.reduce((sum, number) => sum + number, 0);
  const mean = logits.reduce((sum, logit) => sum + logit, 0) / logits.length;
  const share = rule === "odds" ? 1 / (1 + Math.exp(-clipped(mean))) / 2 : 1 / 2;
  return softmax(logits).map((number, label) => Math.log(share * number + (1 - share) * (sums[label] / total)));
}

/** The same for logits whose last one is for texts that are turned away: a text is as strange as its most familiar part. */
export function joinRejecting(logits, ofSentences, rule) {
  const known = (row) => row.slice(0, -1);
  const strangeness = [logits, ...ofSentences].map((row) => row.at(-1) - Math.max(...known(row)));
  const joined = joinSentences(known(logits), ofSentences.map(known), rule);
  return [...joined, Math.max(...joined) + Math.min(...strangeness)];
}

const clipped = (logit) => Math.max(-LARGEST, Math.min(logit, LARGEST));

function probabilitiesByDivergence(logits) {
  const probabilities = softmax(logits);
  const entropy = probabilities.reduce((sum, number) => sum - (number ? number * Math.log(number) : 0), 0);
  const weight = Math.max(Math.log(logits.length) - entropy, LEAST_SAID) ** 2;
  return probabilities.map((number) => weight * number);
}

const RULES = { true: probabilitiesByDivergence, odds: (logits) => logits.map((logit) => Math.exp(clipped(logit))) };
