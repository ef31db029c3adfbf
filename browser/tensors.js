/**
 * Tensors of the interpreter, and the walks over them that several operators share.
 *
 * Floats are kept in Float32Array, integers in Float64Array, and truth values in Uint8Array. An integer is exact up to
 * 2⁵³; the one product of the graphs that is larger is part of the operator `MulAddMod`.
 */

/**
 * @typedef {object} Tensor
 * @property {"float" | "int" | "bool"} type
 * @property {Float32Array | Float64Array | Uint8Array} data - row-major
 * @property {number[]} dims
 */

const ARRAYS = { float: Float32Array, int: Float64Array, bool: Uint8Array };

/** Returns a tensor of zeros. */
export function zeros(type, dims) {
  return { type, dims, data: new ARRAYS[type](product(dims)) };
}

/** Returns a tensor of whole numbers: a scalar, or a list. */
export function integers(values) {
  const isList = Array.isArray(values);
  return { type: "int", dims: isList ? [values.length] : [], data: Float64Array.from(isList ? values : [values]) };
}

export function product(numbers) {
  return numbers.reduce((total, number) => total * number, 1);
}

/** Returns the steps in `data` of each axis of a row-major tensor. */
export function stridesOf(dims) {
  const strides = new Array(dims.length);
  for (let axis = dims.length - 1, step = 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= dims[axis];
  }
  return strides;
}

/** Returns an axis counted from the front. */
export function positiveAxis(axis, rank) {
  return axis < 0 ? axis + rank : axis;
}

/** Returns the shape of two tensors that are broadcast against each other. */
export function broadcastDims(first, second) {
  const rank = Math.max(first.length, second.length);
  return Array.from({ length: rank }, (_, axis) => {
    const [a, b] = [first, second].map((dims) => dims[axis - rank + dims.length] ?? 1);
    if (a !== b && a !== 1 && b !== 1) throw new Error(`shapes [${first}] and [${second}] do not match.`);
    return a === 1 ? b : a;
  });
}

/** Returns the strides of a tensor that is broadcast to `dims`: 0 along the axes that it lacks or repeats. */
export function broadcastStrides(dims, targetDims) {
  const strides = stridesOf(dims);
  const missing = targetDims.length - dims.length;
  return targetDims.map((_, axis) => (axis < missing || dims[axis - missing] === 1 ? 0 : strides[axis - missing]));
}

/**
 * Calls `visit` for each row along the last axis.
 * @param {number[]} dims
 * @param {number[][]} strides - of each tensor
 * @param {(offsets: number[], row: number) => void} visit - gets where the row begins in each tensor, and its number;
 *     the list is reused
 */
export function forEachRow(dims, strides, visit) {
  const outer = dims.slice(0, -1);
  const counter = outer.map(() => 0);
  const offsets = strides.map(() => 0);
  const numRows = product(outer);
  if (dims[dims.length - 1] === 0) return;
  for (let row = 0; row < numRows; row++) {
    visit(offsets, row);
    for (let axis = outer.length - 1; axis >= 0; axis--) {
      counter[axis]++;
      strides.forEach((steps, tensor) => (offsets[tensor] += steps[axis]));
      if (counter[axis] < outer[axis]) break;
      strides.forEach((steps, tensor) => (offsets[tensor] -= steps[axis] * outer[axis]));
      counter[axis] = 0;
    }
  }
}

/** Returns a tensor read along other strides: the one loop behind Transpose, Slice and Expand. */
export function readStrided(tensor, dims, strides, start = 0) {
  const result = zeros(tensor.type, dims);
  const [from, to] = [tensor.data, result.data];
  const length = dims[dims.length - 1] ?? 1;
  const step = strides[strides.length - 1] ?? 0;
  forEachRow(dims.length ? dims : [1], [dims.length ? strides : [0]], ([offset], row) => {
    for (let i = 0, source = start + offset, target = row * length; i < length; i++, source += step) {
      to[target + i] = from[source];
    }
  });
  return result;
}
