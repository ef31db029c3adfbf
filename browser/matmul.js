/** Matrix products of Float32Arrays: in WebAssembly SIMD where the browser has it, else in plain JavaScript. */

import { COLUMNS, loadMultiply, ROWS } from "./matmul_wasm.js";

const PAGE_BYTES = 65536;

/**
 * @typedef {object} Matrix - a matrix (inner, columns) on the right side of a product
 * @property {Float32Array} data
 * @property {number} offset - of its first number in `data`
 * @property {number} inner
 * @property {number} columns
 * @property {boolean} isTransposed - whether `data` holds (columns, inner)
 */

/** Multiplies matrices. Constant matrices are kept in the form that the product reads. */
export class MatrixProducts {
  /** @param {boolean} [plain] - true leaves WebAssembly out */
  constructor(plain = false) {
    this.memory = null;
    this.constants = [new Map(), new Map()]; // data of a constant matrix → its address; transposed matrices apart
    this.end = 0; // address behind the constants; what comes after it belongs to one product
    if (plain) return;
    try {
      const memory = new WebAssembly.Memory({ initial: 1 });
      this.multiplyTiles = loadMultiply(memory);
      this.memory = memory;
    } catch {
      // no WebAssembly, no SIMD, or a page that forbids them
    }
  }

  /**
   * Writes the product (rows, columns) of `left` (rows, inner) and `right` into `out`.
   * @param {Float32Array} left
   * @param {number} leftOffset
   * @param {number} rows
   * @param {Matrix} right
   * @param {Float32Array} out
   * @param {number} outOffset
   * @param {boolean} isConstant - whether `right` is the same in every call
   */
  multiply(left, leftOffset, rows, right, out, outOffset, isConstant) {
    if (!rows || !right.columns) return;
    if (this.memory === null || !right.inner) {
      multiplyPlainly(left, leftOffset, rows, right, out, outOffset);
      return;
    }
    const [groups, panels] = [Math.ceil(rows / ROWS), Math.ceil(right.columns / COLUMNS)];
    const rightAddress = isConstant ? this.#constantAddress(right) : this.end;
    const leftAddress = this.end + (isConstant ? 0 : 4 * panels * COLUMNS * right.inner);
    const outAddress = leftAddress + 4 * groups * ROWS * right.inner;
    const numbers = this.#numbers(outAddress + 4 * groups * ROWS * panels * COLUMNS);
    if (!isConstant) packPanels(right, numbers, rightAddress / 4);
    packGroups(left, leftOffset, rows, right.inner, numbers, leftAddress / 4);
    this.multiplyTiles(leftAddress, rightAddress, outAddress, groups, right.inner, panels);
    for (let row = 0; row < rows; row++) {
      const start = outAddress / 4 + row * panels * COLUMNS;
      out.set(numbers.subarray(start, start + right.columns), outOffset + row * right.columns);
    }
  }

  /** Returns the address of a constant matrix in panels; writes it there the first time. */
  #constantAddress(matrix) {
    const addresses = this.constants[Number(matrix.isTransposed)];
    let address = addresses.get(matrix.data);
    if (address === undefined) {
      address = this.end;
      this.end += 4 * Math.ceil(matrix.columns / COLUMNS) * COLUMNS * matrix.inner;
      packPanels(matrix, this.#numbers(this.end), address / 4);
      addresses.set(matrix.data, address);
    }
    return address;
  }

  /** Returns the memory as floats, of at least `bytes` bytes. */
  #numbers(bytes) {
    const missing = bytes - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE_BYTES));
    return new Float32Array(this.memory.buffer);
  }
}

/** Writes a matrix as panels of 8 columns; the last panel is filled with 0. */
function packPanels({ data, offset, inner, columns, isTransposed }, numbers, start) {
  const [innerStep, columnStep] = isTransposed ? [1, inner] : [columns, 1];
  let target = start;
  for (let first = 0; first < columns; first += COLUMNS) {
    const width = Math.min(COLUMNS, columns - first);
    for (let k = 0; k < inner; k++, target += COLUMNS) {
      let source = offset + k * innerStep + first * columnStep;
      for (let column = 0; column < width; column++, source += columnStep) numbers[target + column] = data[source];
      for (let column = width; column < COLUMNS; column++) numbers[target + column] = 0;
    }
  }
}

/** Writes rows as groups of 4; the last group is filled with 0. */
function packGroups(data, offset, rows, inner, numbers, start) {
  for (let row = 0; row < Math.ceil(rows / ROWS) * ROWS; row++) {
    let target = start + Math.floor(row / ROWS) * ROWS * inner + (row % ROWS);
    const source = offset + row * inner;
    for (let k = 0; k < inner; k++, target += ROWS) numbers[target] = row < rows ? data[source + k] : 0;
  }
}

/** The same product without WebAssembly. */
function multiplyPlainly(left, leftOffset, rows, { data, offset, inner, columns, isTransposed }, out, outOffset) {
  const [innerStep, columnStep] = isTransposed ? [1, inner] : [columns, 1];
  const sums = new Float64Array(columns);
  for (let row = 0; row < rows; row++) {
    sums.fill(0);
    for (let k = 0; k < inner; k++) {
      const factor = left[leftOffset + row * inner + k];
      for (let column = 0, source = offset + k * innerStep; column < columns; column++, source += columnStep) {
        sums[column] += factor * data[source];
      }
    }
    out.set(sums, outOffset + row * columns);
  }
}
