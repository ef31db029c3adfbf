/** Operators that compute one number from several: sums, means, norms, softmax and matrix products. */

import { broadcastDims, broadcastStrides, forEachRow, positiveAxis, product, stridesOf, zeros } from "./tensors.js";

/** @typedef {import("./tensors.js").Tensor} Tensor */

/** ReduceSum has loops of its own: front ends add up many rows of a table. */
function reduceSum(inputs, attributes) {
  const [tensor, axes] = inputs;
  const rank = tensor.dims.length;
  const along = axes?.data.length === 1 ? positiveAxis(axes.data[0], rank) : -1;
  if (along < 0) return sumOfAxes(inputs, attributes);
  const count = tensor.dims[along];
  const inner = product(tensor.dims.slice(along + 1));
  const kept = tensor.dims.map((size, axis) => (axis === along ? 1 : size));
  const result = zeros(tensor.type, attributes.keepdims ?? 1 ? kept : kept.filter((_, axis) => axis !== along));
  const sums = new Float64Array(inner);
  for (let outer = 0, source = 0; outer < result.data.length; outer += inner) {
    sums.fill(0);
    for (let k = 0; k < count; k++) for (let i = 0; i < inner; i++) sums[i] += tensor.data[source++];
    result.data.set(sums, outer);
  }
  return [result];
}

/**
 * Returns an operator that reduces axes.
 * @param {number} start - the result for no number
 * @param {(total: number, value: number) => number} combine
 * @param {(total: number, count: number) => number} finish
 */
function reduction(start, combine, finish = (total) => total) {
  return ([tensor, axes], { keepdims = 1, noop_with_empty_axes = 0 }) => {
    const rank = tensor.dims.length;
    if (!axes?.data.length && noop_with_empty_axes) return [tensor];
    const all = tensor.dims.map((_, axis) => axis);
    const reduced = new Set(axes?.data.length ? Array.from(axes.data, (axis) => positiveAxis(axis, rank)) : all);
    const kept = tensor.dims.map((size, axis) => (reduced.has(axis) ? 1 : size));
    const totals = new Float64Array(product(kept)).fill(start);
    const shape = rank ? tensor.dims : [1];
    const strides = rank ? broadcastStrides(kept, tensor.dims) : [0];
    const length = shape[shape.length - 1];
    const step = strides[strides.length - 1];
    forEachRow(shape, [strides], ([target], row) => {
      for (let i = 0; i < length; i++) {
        totals[target + i * step] = combine(totals[target + i * step], tensor.data[row * length + i]);
      }
    });
    const count = tensor.data.length / Math.max(1, totals.length);
    const result = zeros(tensor.type, keepdims ? kept : tensor.dims.filter((_, axis) => !reduced.has(axis)));
    totals.forEach((total, index) => (result.data[index] = finish(total, count)));
    return [result];
  };
}

const sumOfAxes = reduction(0, (total, value) => total + value);

function softmax([tensor], { axis = -1 }) {
  const along = positiveAxis(axis, tensor.dims.length);
  const step = stridesOf(tensor.dims)[along];
  const span = step * tensor.dims[along]; // numbers from the first to behind the last one of the axis
  const result = zeros("float", tensor.dims);
  const [from, to] = [tensor.data, result.data];
  for (let place = 0; place < from.length / tensor.dims[along]; place++) {
    const start = Math.floor(place / step) * span + (place % step);
    let [largest, sum] = [-Infinity, 0];
    for (let i = start; i < start + span; i += step) largest = Math.max(largest, from[i]);
    for (let i = start; i < start + span; i += step) sum += to[i] = Math.exp(from[i] - largest);
    for (let i = start; i < start + span; i += step) to[i] /= sum;
  }
  return [result];
}

/** Normalises along the last axis. */
function layerNormalization([tensor, scale, bias], { epsilon = 1e-5 }) {
  const length = tensor.dims[tensor.dims.length - 1];
  const result = zeros("float", tensor.dims);
  const [from, to] = [tensor.data, result.data];
  for (let start = 0; start < from.length; start += length) {
    let [sum, squares] = [0, 0];
    for (let i = start; i < start + length; i++) sum += from[i];
    const mean = sum / length;
    for (let i = start; i < start + length; i++) squares += (from[i] - mean) ** 2;
    const factor = 1 / Math.sqrt(squares / length + epsilon);
    for (let i = 0; i < length; i++) {
      to[start + i] = (from[start + i] - mean) * factor * scale.data[i] + (bias ? bias.data[i] : 0);
    }
  }
  return [result];
}

/** A product of integers by a matrix, exact up to 2⁵³. */
function integerProduct(a, b) {
  const [inner, columns] = b.dims;
  if (b.dims.length !== 2) throw new Error("MatMul of integers is only supported for a matrix on the right.");
  const result = zeros("int", [...a.dims.slice(0, -1), columns]);
  a.data.forEach((value, index) => {
    const [target, row] = [Math.floor(index / inner) * columns, (index % inner) * columns];
    if (value) for (let j = 0; j < columns; j++) result.data[target + j] += value * b.data[row + j];
  });
  return [result];
}

function matMul([a, b], _, { products, isConstant }) {
  if (a.type === "int") return integerProduct(a, b);
  const [rows, inner] = a.dims.slice(-2);
  const columns = b.dims[b.dims.length - 1];
  const right = { data: b.data, offset: 0, inner, columns, isTransposed: false };
  if (b.dims.length === 2) { // one product: the batch of `a` is more rows
    const result = zeros("float", [...a.dims.slice(0, -1), columns]);
    products.multiply(a.data, 0, a.data.length / inner, right, result.data, 0, isConstant(1));
    return [result];
  }
  const batch = broadcastDims(a.dims.slice(0, -2), b.dims.slice(0, -2));
  const result = zeros("float", [...batch, rows, columns]);
  const strides = [a, b].map((tensor) => {
    const size = product(tensor.dims.slice(-2));
    return [...broadcastStrides(tensor.dims.slice(0, -2), batch).map((step) => step * size), 0];
  });
  forEachRow([...batch, 1], strides, ([left, offset], index) => {
    products.multiply(a.data, left, rows, { ...right, offset }, result.data, index * rows * columns, false);
  });
  return [result];
}

function gemm([a, b, c], { transB = 0 }, { products, isConstant }) {
  const [rows, inner] = a.dims;
  const columns = b.dims[transB ? 0 : 1];
  const result = zeros("float", [rows, columns]);
  const right = { data: b.data, offset: 0, inner, columns, isTransposed: Boolean(transB) };
  products.multiply(a.data, 0, rows, right, result.data, 0, isConstant(1));
  if (c) {
    const steps = broadcastStrides(c.dims, result.dims);
    result.data.forEach((value, index) => {
      const row = Math.floor(index / columns);
      result.data[index] = value + c.data[row * steps[0] + (index - row * columns) * steps[1]];
    });
  }
  return [result];
}

function cumSum([tensor, axis]) {
  const along = positiveAxis(axis.data[0], tensor.dims.length);
  const step = stridesOf(tensor.dims)[along];
  const result = { ...tensor, data: tensor.data.slice() };
  for (let i = 0; i < result.data.length; i++) {
    if (Math.floor(i / step) % tensor.dims[along] > 0) result.data[i] += result.data[i - step];
  }
  return [result];
}

export const REDUCTIONS = {
  CumSum: cumSum,
  Gemm: gemm,
  LayerNormalization: layerNormalization,
  MatMul: matMul,
  ReduceL2: reduction(0, (total, value) => total + value * value, Math.sqrt),
  ReduceMax: reduction(-Infinity, Math.max),
  ReduceMean: reduction(0, (total, value) => total + value, (total, count) => total / count),
  ReduceMin: reduction(Infinity, Math.min),
  ReduceSum: reduceSum,
  Softmax: softmax,
};
