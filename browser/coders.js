/** Block coders: normalised units → blocks of K bytes. The same bytes as tokenization/block_coders.py. */

import { hmacMd5 } from "./md5.js";
import { ngramHashes, normalIntegers } from "./splitmix.js";
import { utf8Bytes } from "./words.js";

/** @typedef {string | Uint8Array} Text - a normalised unit; each byte of a window of bytes counts as a character */

export const NUM_SPECIAL = 5; // elements 0–4 are special tokens; byte value b is element b + 5
const MAX_NGRAM = 4;

/**
 * Returns a function that writes a unit as the elements of its block: byte value b is b + 5, padding is 0.
 * @param {string} name - `utf8`, `md5`, `lsh` or `lsh-index`
 * @param {object} options - all options of the coder, as inference.json holds them
 * @returns {(unit: Text) => Uint16Array}
 */
export function makeCoder(name, options) {
  const encode = CODERS[name](options);
  const pads = name === "utf8";
  return (unit) => {
    const bytes = encode(unit);
    const elements = new Uint16Array(pads ? options.block_size : bytes.length);
    bytes.forEach((byte, index) => (elements[index] = byte + NUM_SPECIAL));
    return elements;
  };
}

/** Writes the unit's own bytes, cut at K. */
function utf8Coder({ block_size }) {
  return (unit) => bytesOf(unit).subarray(0, block_size);
}

/** Writes HMAC-MD5 of the unit's bytes. */
function md5Coder({ key }) {
  const digest = hmacMd5(utf8Bytes(key));
  return (unit) => digest(bytesOf(unit));
}

/** Writes the signs of random hyperplanes; all are one vector η, rolled. */
function lshCoder({ num_bits, num_features, ngrams, seed }) {
  const eta = normalIntegers(seed, num_features);
  const featuresOf = makeFeatures(num_features, ngrams);
  return (unit) => {
    const bytes = new Uint8Array(Math.ceil(num_bits / 8));
    rolledProducts(eta, featuresOf(unit), num_bits).forEach((product, bit) => {
      if (product >= 0) bytes[bit >> 3] |= 128 >> (bit & 7);
    });
    return bytes;
  };
}

/** Writes the index of the hyperplane with the largest product, big-endian; the first maximum wins. */
function lshIndexCoder({ num_hyperplanes, num_features, ngrams, seed }) {
  const eta = normalIntegers(seed, num_features);
  const featuresOf = makeFeatures(num_features, ngrams);
  const size = Math.max(1, Math.ceil((32 - Math.clz32(num_hyperplanes - 1)) / 8));
  return (unit) => {
    const products = rolledProducts(eta, featuresOf(unit), num_hyperplanes);
    const best = products.reduce((first, product, index) => (product > products[first] ? index : first), 0);
    return Uint8Array.from({ length: size }, (_, index) => (best >>> (8 * (size - 1 - index))) & 255);
  };
}

/** Returns x·r_i for i = 0…count−1: the sum of η[(j + i) mod F] over the unit's features j. */
function rolledProducts(eta, features, count) {
  const products = new Float64Array(count);
  for (const feature of features) {
    for (let i = 0, j = feature; i < count; i++, j++) {
      if (j === eta.length) j = 0;
      products[i] += eta[j];
    }
  }
  return products;
}

/** Returns a function: unit → the features of its n-grams, n = 1…4. An n-gram that occurs twice is listed twice. */
function makeFeatures(numFeatures, ngrams) {
  if (!ngrams) return (unit) => ngramHashes(charactersOf(unit).map((c) => c.codePointAt(0)), MAX_NGRAM, numFeatures);
  const rank = new Map(ngrams.map((ngram, index) => [ngram, index]));
  return (unit) => {
    const characters = charactersOf(unit);
    const features = [];
    for (let n = 1; n <= MAX_NGRAM; n++) {
      for (let start = 0; start + n <= characters.length; start++) {
        const feature = rank.get(characters.slice(start, start + n).join(""));
        if (feature !== undefined) features.push(feature);
      }
    }
    return features;
  };
}

function bytesOf(unit) {
  return typeof unit === "string" ? utf8Bytes(unit) : unit;
}

function charactersOf(unit) {
  return typeof unit === "string" ? Array.from(unit) : Array.from(unit, (byte) => String.fromCharCode(byte));
}

const CODERS = { utf8: utf8Coder, md5: md5Coder, lsh: lshCoder, "lsh-index": lshIndexCoder };
