/** Texts and pairs → rows of blocks with special tokens, truncated as `truncation=True` does in Python. */

import { makeCoder } from "./coders.js";
import { makeSplitter, normalizeUnit } from "./words.js";

/** @typedef {import("./words.js").Unit} Unit */

const [CLS, SEP, MASK] = [2, 3, 4];
const MASK_BLOCK = Uint16Array.of(MASK); // the rest of a row is 0
const MAX_CACHED_UNITS = 1 << 14;
const MAX_NUMBERS = 1 << 16; // elements of the blocks in one batch; a larger one would need much memory

/**
 * @typedef {object} TokenizerSettings
 * @property {string} splitter
 * @property {object} splitter_options
 * @property {string} coder
 * @property {object} coder_options
 * @property {number} block_size - K
 * @property {number} max_tokens - of a row, special tokens included
 * @property {string | null} mask_token - the name that is the mask token in a text; null: there is none
 * @property {"left" | "right"} truncation_side - where units are cut off
 */

export class Tokenizer {
  /** @param {TokenizerSettings} settings */
  constructor(settings) {
    this.settings = settings;
    const split = makeSplitter(settings.splitter, settings.splitter_options);
    this.split = settings.mask_token ? splitAroundMasks(split, settings.mask_token) : split;
    this.encode = makeCoder(settings.coder, settings.coder_options);
    this.cache = new Map(); // the text of a unit → its elements
  }

  /**
   * Returns the units of a text or of a pair that fit a row, and whether units were cut off.
   * @param {string} text
   * @param {string} [pair]
   * @returns {{units: Unit[], truncated: boolean}}
   */
  unitsOf(text, pair) {
    const parts = [this.split(text, 0)];
    if (pair !== undefined) parts.push(this.split(pair, 1));
    const lengths = parts.map((units) => units.length);
    const limit = this.settings.max_tokens - 1 - parts.length;
    if (sum(lengths) <= limit) return { units: parts.flat(), truncated: false };
    const isLeft = this.settings.truncation_side === "left";
    const kept = keptLengths(lengths, limit);
    const cut = parts.map((units, i) => (isLeft ? units.slice(units.length - kept[i]) : units.slice(0, kept[i])));
    return { units: cut.flat(), truncated: true };
  }

  /**
   * Returns the elements of a unit's block, (K,).
   * @param {Unit} unit
   * @returns {Uint16Array}
   */
  blockOf(unit) {
    if (unit.isMask) return MASK_BLOCK;
    if (unit.bytes) return this.encode(unit.bytes);
    let block = this.cache.get(unit.text);
    if (block === undefined) {
      if (this.cache.size >= MAX_CACHED_UNITS) this.cache.clear();
      block = this.encode(normalizeUnit(unit.text, this.settings.splitter, this.settings.splitter_options));
      this.cache.set(unit.text, block);
    }
    return block;
  }

  /**
   * Yields the blocks of rows in batches, the longest rows first: rows of similar length need little padding.
   * @param {Unit[][]} rows - see `blocksOf`
   * @param {boolean} isPair - see `blocksOf`
   * @returns {Generator<{places: number[], data: Float64Array, dims: number[], positions: number[][]}>} the places of a
   *     batch's rows in `rows`, and what `blocksOf` returns for them
   */
  *batchesOf(rows, isPair) {
    const order = Array.from(rows.keys()).sort((one, other) => rows[other].length - rows[one].length);
    while (order.length) {
      const numbers = (rows[order[0]].length + (isPair ? 3 : 2)) * this.settings.block_size; // of the longest row
      const places = order.splice(0, Math.max(1, Math.floor(MAX_NUMBERS / numbers)));
      yield { places, ...this.blocksOf(places.map((place) => rows[place]), isPair) };
    }
  }

  /**
   * Returns the blocks of a batch, rows padded with 0 to the longest one.
   * @param {Unit[][]} rows - the units of each row; those of part 1 follow those of part 0
   * @param {boolean} isPair - whether each row ends with a second text, which may be empty
   * @returns {{data: Float64Array, dims: number[], positions: number[][]}} (rows, tokens, K), and the token that holds
   *     each unit of a row
   */
  blocksOf(rows, isPair) {
    const size = this.settings.block_size;
    const width = Math.max(...rows.map((units) => units.length)) + (isPair ? 3 : 2);
    const data = new Float64Array(rows.length * width * size);
    const positions = rows.map((units, row) => {
      let token = row * width;
      const write = (elements) => data.set(elements, token++ * size);
      const [first, second] = [units.filter((unit) => !unit.part), units.filter((unit) => unit.part)];
      const places = [];
      const writeAll = (part) => part.forEach((unit) => {
        places.push(token - row * width);
        write(this.blockOf(unit));
      });
      write([CLS]);
      writeAll(first);
      write([SEP]);
      if (isPair) {
        writeAll(second);
        write([SEP]);
      }
      return places;
    });
    return { data, dims: [rows.length, width, size], positions };
  }
}

/**
 * Returns a splitter that makes each mask token a unit and cuts the texts around it.
 * @param {(text: string, part: number) => Unit[]} split - cuts the other texts
 * @param {string} mask - name of the mask token
 */
function splitAroundMasks(split, mask) {
  return (text, part) => {
    const units = [];
    let start = 0; // of the text between two masks
    for (const between of text.split(mask)) {
      if (start) units.push({ text: mask, start: start - mask.length, end: start, part, isMask: true });
      for (const unit of split(between, part)) units.push({ ...unit, start: unit.start + start, end: unit.end + start });
      start += between.length + mask.length;
    }
    return units;
  };
}

/**
 * Returns how many units of each text are kept, when units are removed from the longer text first.
 * @param {number[]} lengths - of one or two texts
 * @param {number} limit - units that fit a row
 */
function keptLengths(lengths, limit) {
  if (lengths.length === 1) return [Math.min(lengths[0], limit)];
  const shorter = Math.min(Math.min(...lengths), Math.floor(limit / 2));
  return lengths[0] > lengths[1] ? [limit - shorter, shorter] : [shorter, limit - shorter];
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

