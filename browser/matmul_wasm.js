/**
 * A matrix product in WebAssembly SIMD, assembled here from its instructions.
 *
 * The function `multiply(a, b, c, groups, inner, panels)` computes c = a·b with all addresses in bytes:
 * - a holds groups of 4 rows, each group as (inner, 4), so the 4 numbers that are needed together lie together.
 * - b holds panels of 8 columns, each panel as (inner, 8).
 * - c is row-major, (4·groups, 8·panels).
 * A tile of c, 4 rows by 8 columns, stays in 8 vector registers while `inner` is walked:
 *
 *     for each panel of b:                     # stays in the first cache
 *       for each group of a:
 *         sums[4][2] = 0
 *         for k in inner: for row in 4: for half in 2: sums[row][half] += splat(a[k][row]) * b[k][half]
 *         store sums
 */

export const ROWS = 4; // of a group
export const COLUMNS = 8; // of a panel

const [I32, V128, VOID] = [0x7f, 0x7b, 0x40];
const VECTOR = 16; // bytes of 4 floats

/** Returns the bytes of an unsigned number in LEB128. */
function unsigned(number) {
  const low = number & 0x7f;
  return number < 0x80 ? [low] : [low | 0x80, ...unsigned(number >>> 7)];
}

// Instructions. Vector instructions have the prefix 0xfd; loads and stores name an alignment and an offset.
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const constant = (number) => [0x41, number]; // 0 to 63
const add = [0x6a];
const subtract = [0x6b];
const multiply = [0x6c];
const loop = (...body) => [0x03, VOID, ...body.flat(), 0x0b];
const repeatIf = [0x0d, 0]; // jumps to the beginning of the innermost loop if the number on the stack is not 0
const loadVector = (offset) => [0xfd, 0x00, 4, ...unsigned(offset)];
const loadSplat = (offset) => [0xfd, 0x09, 2, ...unsigned(offset)];
const storeVector = (offset) => [0xfd, 0x0b, 4, ...unsigned(offset)];
const zeroVector = [0xfd, 0x0c, ...new Array(VECTOR).fill(0)];
const addVectors = [0xfd, ...unsigned(0xe4)];
const multiplyVectors = [0xfd, ...unsigned(0xe6)];

// Locals: the six parameters, then counters and addresses, then vectors.
const [A, B, C, GROUPS, INNER, PANELS] = [0, 1, 2, 3, 4, 5];
const [GROUPS_LEFT, INNER_LEFT, A_NOW, B_NOW, C_NOW, C_ROW_BYTES] = [6, 7, 8, 9, 10, 11];
const [LEFT_HALF, RIGHT_HALF, SPLAT, SUMS] = [12, 13, 14, 15];
const NUM_ADDRESSES = 6;
const NUM_VECTORS = 3 + 2 * ROWS;
const sumOf = (row, half) => SUMS + 2 * row + half;
const rows = [0, 1, 2, 3];

/** local += local or number on the stack, as instructions. */
const increase = (local, amount) => [...get(local), ...amount, ...add, ...set(local)];
/** local −= 1; leaves the new number on the stack. */
const countDown = (local) => [...get(local), ...constant(1), ...subtract, ...set(local), ...get(local)];

const stepOverInner = [
  ...get(B_NOW), ...loadVector(0), ...set(LEFT_HALF),
  ...get(B_NOW), ...loadVector(VECTOR), ...set(RIGHT_HALF),
  ...rows.flatMap((row) => [
    ...get(A_NOW), ...loadSplat(4 * row), ...set(SPLAT),
    ...[LEFT_HALF, RIGHT_HALF].flatMap((half, index) => [
      ...get(sumOf(row, index)), ...get(SPLAT), ...get(half), ...multiplyVectors, ...addVectors,
      ...set(sumOf(row, index)),
    ]),
  ]),
  ...increase(A_NOW, constant(4 * ROWS)),
  ...increase(B_NOW, constant(4 * COLUMNS)),
];

const tile = [
  ...rows.flatMap((row) => [0, 1].flatMap((half) => [...zeroVector, ...set(sumOf(row, half))])),
  ...get(B), ...set(B_NOW),
  ...get(INNER), ...set(INNER_LEFT),
  ...loop(stepOverInner, countDown(INNER_LEFT), repeatIf),
  ...rows.flatMap((row) => [
    ...get(C_NOW), ...get(sumOf(row, 0)), ...storeVector(0),
    ...get(C_NOW), ...get(sumOf(row, 1)), ...storeVector(VECTOR),
    ...increase(C_NOW, get(C_ROW_BYTES)),
  ]),
];

const body = [
  ...get(PANELS), ...constant(4 * COLUMNS), ...multiply, ...set(C_ROW_BYTES),
  ...loop(
    [...get(A), ...set(A_NOW), ...get(C), ...set(C_NOW), ...get(GROUPS), ...set(GROUPS_LEFT)],
    loop(tile, countDown(GROUPS_LEFT), repeatIf),
    increase(C, constant(4 * COLUMNS)),
    [...get(B_NOW), ...set(B)],
    countDown(PANELS), repeatIf,
  ),
];

/** Returns a section of a module: its number, its length and its content. */
const section = (number, content) => [number, ...unsigned(content.length), ...content];
const name = (text) => [text.length, ...Array.from(text, (letter) => letter.charCodeAt(0))];

/** Returns the module's bytes. It imports its memory as `env.memory`. */
function moduleBytes() {
  const locals = [2, NUM_ADDRESSES, I32, NUM_VECTORS, V128];
  const code = [...locals, ...body, 0x0b];
  return Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0, // "\0asm", version 1
    ...section(1, [1, 0x60, 6, I32, I32, I32, I32, I32, I32, 0]), // the type: six numbers → nothing
    ...section(2, [1, ...name("env"), ...name("memory"), 0x02, 0x00, 1]),
    ...section(3, [1, 0]), // one function of type 0
    ...section(7, [1, ...name("multiply"), 0x00, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

/**
 * Returns the function `multiply` over a memory.
 * @param {WebAssembly.Memory} memory
 * @throws {Error} the browser has no WebAssembly with SIMD
 */
export function loadMultiply(memory) {
  const module = new WebAssembly.Module(moduleBytes());
  return new WebAssembly.Instance(module, { env: { memory } }).exports.multiply;
}
