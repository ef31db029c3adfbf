/**
 * The SplitMix64 generator (Steele, Lea and Flood, 2014) on pairs of 32-bit numbers, and what the coder `lsh` draws
 * from it. BigInt gives the same numbers in ten times the time.
 */

/** @typedef {{high: number, low: number}} Uint64 - two unsigned 32-bit halves */

/**
 * Returns `count` nearly normal integers: sums of the four 16-bit fields of SplitMix64's outputs, less their mean.
 * @param {number} seed - a whole number of any sign
 * @param {number} count
 * @returns {Int32Array}
 */
export function normalIntegers(seed, count) {
  const numbers = new Int32Array(count);
  const state = { high: Number(BigInt.asUintN(64, BigInt(seed)) >> 32n), low: Number(BigInt.asUintN(32, BigInt(seed))) };
  for (let index = 0; index < count; index++) {
    add(state, 0x9e3779b9, 0x7f4a7c15);
    const { high, low } = finalize({ ...state });
    numbers[index] = (high >>> 16) + (high & 0xffff) + (low >>> 16) + (low & 0xffff) - 2 * 0xffff;
  }
  return numbers;
}

/**
 * Returns the hash of each n-gram of characters, n = 1…`longest`, modulo `modulus`.
 * @param {number[]} codes - code points
 * @param {number} longest
 * @param {number} modulus - below 2²⁶
 * @returns {number[]}
 */
export function ngramHashes(codes, longest, modulus) {
  const hashes = [];
  const wrap = 2 ** 32 % modulus;
  for (let start = 0; start < codes.length; start++) {
    const state = { high: 0, low: 0 };
    for (let behind = start; behind < Math.min(start + longest, codes.length); behind++) {
      add(state, 0, codes[behind] + 1);
      finalize(state);
      hashes.push(((state.high % modulus) * wrap + state.low) % modulus);
    }
  }
  return hashes;
}

/** Adds a number to `state` in place, modulo 2⁶⁴. */
function add(state, high, low) {
  const sum = state.low + low;
  state.low = sum >>> 0;
  state.high = (state.high + high + (sum > 0xffffffff ? 1 : 0)) >>> 0;
}

/** Applies the finaliser of SplitMix64 to `state` in place; returns it. */
function finalize(state) {
  shiftXor(state, 30);
  multiply(state, 0xbf58476d, 0x1ce4e5b9);
  shiftXor(state, 27);
  multiply(state, 0x94d049bb, 0x133111eb);
  shiftXor(state, 31);
  return state;
}

/** state ^= state >> bits, for bits from 1 to 31. */
function shiftXor(state, bits) {
  state.low = (state.low ^ ((state.low >>> bits) | (state.high << (32 - bits)))) >>> 0;
  state.high = (state.high ^ (state.high >>> bits)) >>> 0;
}

/** Multiplies `state` by a number in place, modulo 2⁶⁴. The low halves are multiplied in parts of 16 bits. */
function multiply(state, high, low) {
  const cross = Math.imul(state.high, low) + Math.imul(state.low, high);
  const [a, b] = [state.low >>> 16, state.low & 0xffff];
  const [c, d] = [low >>> 16, low & 0xffff];
  const middle = a * d + ((b * d) >>> 16); // below 2³³, exact
  const middleLow = (middle % 0x10000) + b * c;
  const carried = a * c + Math.floor(middle / 0x10000) + Math.floor(middleLow / 0x10000);
  state.low = Math.imul(state.low, low) >>> 0;
  state.high = (carried + cross) >>> 0;
}
