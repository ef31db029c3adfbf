/** Which rows are held out together: the folds of training/finetuning/tasks.py, row for row. */

const FOLDS = 5;
const SEED = 42; // SAMPLING_SEED of training/finetuning/task_files.py
const STATE = 624; // numbers of the generator

/**
 * Returns the rows of each fold, sorted. Each fold has the same share of each label, and equal texts are in one fold.
 * @param {number[]} targets - the label of each row
 * @param {string[]} texts - of each row
 * @returns {number[][]}
 */
export function foldsOf(targets, texts) {
  const members = new Map();
  texts.forEach((text, row) => (members.get(text) ?? members.set(text, []).get(text)).push(row));
  const order = shuffled([...members.values()], SEED);
  order.sort((one, other) => targets[one[0]] - targets[other[0]]);
  const folds = Array.from({ length: FOLDS }, () => []);
  order.forEach((rows, place) => folds[place % FOLDS].push(...rows));
  return folds.map((rows) => rows.sort((one, other) => one - other));
}

/**
 * Returns the items in the order of Python's `random.Random(seed).shuffle(items)`.
 * @param {any[]} items - fewer than 2³²
 * @param {number} seed - 0 … 2³² − 1
 */
export function shuffled(items, seed) {
  const draw = mersenneTwister(seed);
  const result = items.slice();
  for (let last = result.length - 1; last > 0; last--) {
    const unused = Math.clz32(last + 1);
    let place = draw() >>> unused;
    while (place > last) place = draw() >>> unused;
    [result[last], result[place]] = [result[place], result[last]];
  }
  return result;
}

/** Returns a function that draws 32 random bits: MT19937 (Matsumoto & Nishimura 1998), seeded as Python seeds it. */
function mersenneTwister(seed) {
  const state = new Uint32Array(STATE);
  state[0] = 19650218;
  const mixed = (i, factor) => Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), factor);
  for (let i = 1; i < STATE; i++) state[i] = mixed(i, 1812433253) + i;
  let place = 1;
  const step = (factor, added) => {
    state[place] = (state[place] ^ mixed(place, factor)) + added(place);
    if (++place < STATE) return;
    state[0] = state[STATE - 1];
    place = 1;
  };
  for (let count = 0; count < STATE; count++) step(1664525, () => seed);
  for (let count = 1; count < STATE; count++) step(1566083941, (i) => -i);
  state[0] = 0x80000000;
  let drawn = STATE;
  return () => {
    if (drawn === STATE) {
      twist(state);
      drawn = 0;
    }
    let bits = state[drawn++];
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c5680;
    bits ^= (bits << 15) & 0xefc60000;
    return (bits ^ (bits >>> 18)) >>> 0;
  };
}

/** Replaces the state of the generator by the next one. */
function twist(state) {
  for (let i = 0; i < STATE; i++) {
    const bits = (state[i] & 0x80000000) | (state[(i + 1) % STATE] & 0x7fffffff);
    state[i] = state[(i + 397) % STATE] ^ (bits >>> 1) ^ (bits & 1 ? 0x9908b0df : 0);
  }
}
