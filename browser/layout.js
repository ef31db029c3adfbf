/** Operators that move numbers and compute none: shapes, slices, look-ups in tables. */

import {
  broadcastDims, broadcastStrides, integers, positiveAxis, product, readStrided, stridesOf, zeros,
} from "./tensors.js";

function shape([tensor], { start = 0, end }) {
  return [integers(tensor.dims.slice(start, end))];
}

function reshape([tensor, target], { allowzero = 0 }) {
  const dims = Array.from(target.data, (size, axis) => (size === 0 && !allowzero ? tensor.dims[axis] : size));
  const open = dims.indexOf(-1);
  if (open >= 0) dims[open] = tensor.data.length / product(dims.filter((_, axis) => axis !== open));
  return [{ ...tensor, dims }];
}

function squeeze([tensor, axes]) {
  const rank = tensor.dims.length;
  const dropped = axes && new Set(Array.from(axes.data, (axis) => positiveAxis(axis, rank)));
  return [{ ...tensor, dims: tensor.dims.filter((size, axis) => (dropped ? !dropped.has(axis) : size !== 1)) }];
}

function unsqueeze([tensor, axes]) {
  const rank = tensor.dims.length + axes.data.length;
  const added = new Set(Array.from(axes.data, (axis) => positiveAxis(axis, rank)));
  let next = 0;
  return [{ ...tensor, dims: Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : tensor.dims[next++])) }];
}

function transpose([tensor], { perm }) {
  const order = perm ?? tensor.dims.map((_, axis) => tensor.dims.length - 1 - axis);
  const strides = stridesOf(tensor.dims);
  return [readStrided(tensor, order.map((axis) => tensor.dims[axis]), order.map((axis) => strides[axis]))];
}

function expand([tensor, target]) {
  const dims = broadcastDims(tensor.dims, Array.from(target.data));
  return [readStrided(tensor, dims, broadcastStrides(tensor.dims, dims))];
}

function slice([tensor, starts, ends, axes, steps]) {
  const dims = tensor.dims.slice();
  const strides = stridesOf(tensor.dims);
  let first = 0;
  starts.data.forEach((wantedStart, index) => {
    const axis = positiveAxis(axes ? axes.data[index] : index, dims.length);
    const step = steps ? steps.data[index] : 1;
    if (step < 1) throw new Error(`Slice with the step ${step} is not supported.`);
    const size = tensor.dims[axis];
    const inside = (place) => Math.min(Math.max(place < 0 ? place + size : place, 0), size);
    const [start, end] = [inside(wantedStart), inside(ends.data[index])];
    dims[axis] = Math.max(0, Math.ceil((end - start) / step));
    first += start * strides[axis];
    strides[axis] *= step;
  });
  return [readStrided(tensor, dims, strides, first)];
}

function split([tensor, sizes], { axis = 0 }) {
  let start = 0;
  return Array.from(sizes.data, (size) => {
    const piece = slice([tensor, integers([start]), integers([start + size]), integers([axis])]);
    start += size;
    return piece[0];
  });
}

function concat(tensors, { axis }) {
  const along = positiveAxis(axis, tensors[0].dims.length);
  const dims = tensors[0].dims.slice();
  dims[along] = tensors.reduce((total, tensor) => total + tensor.dims[along], 0);
  const result = zeros(tensors[0].type, dims);
  const outer = product(dims.slice(0, along));
  let target = 0;
  for (let row = 0; row < outer; row++) {
    for (const tensor of tensors) {
      const length = tensor.data.length / outer;
      result.data.set(tensor.data.subarray(row * length, (row + 1) * length), target);
      target += length;
    }
  }
  return [result];
}

/** Adds places around a tensor; a negative number takes some away. */
function pad([tensor, pads, filler]) {
  const rank = tensor.dims.length;
  const dims = tensor.dims.map((size, axis) => size + pads.data[axis] + pads.data[rank + axis]);
  const result = zeros(tensor.type, dims);
  if (filler) result.data.fill(filler.data[0]);
  const [from, to] = [stridesOf(tensor.dims), stridesOf(dims)];
  for (let i = 0; i < result.data.length; i++) {
    let [source, isInside] = [0, true];
    dims.forEach((size, axis) => {
      const place = (Math.floor(i / to[axis]) % size) - pads.data[axis];
      isInside = isInside && place >= 0 && place < tensor.dims[axis];
      source += place * from[axis];
    });
    if (isInside) result.data[i] = tensor.data[source];
  }
  return [result];
}

/** Looks rows up in a table, on any axis. */
function gather([table, indices], { axis = 0 }) {
  const along = positiveAxis(axis, table.dims.length);
  const [before, size, behind] = [table.dims.slice(0, along), table.dims[along], table.dims.slice(along + 1)];
  const result = zeros(table.type, [...before, ...indices.dims, ...behind]);
  const [outer, length] = [product(before), product(behind)];
  let target = 0;
  for (let i = 0; i < outer; i++) {
    for (let j = 0; j < indices.data.length; j++, target += length) {
      const start = (i * size + positiveAxis(indices.data[j], size)) * length;
      if (length === 1) result.data[target] = table.data[start];
      else result.data.set(table.data.subarray(start, start + length), target);
    }
  }
  return [result];
}

function gatherElements([tensor, indices], { axis = 0 }) {
  const along = positiveAxis(axis, tensor.dims.length);
  const [from, to] = [stridesOf(tensor.dims), stridesOf(indices.dims)];
  const result = zeros(tensor.type, indices.dims);
  indices.data.forEach((index, place) => {
    const source = to.reduce((sum, step, axisOf) => {
      const position = Math.floor(place / step) % indices.dims[axisOf];
      return sum + from[axisOf] * (axisOf === along ? positiveAxis(index, tensor.dims[along]) : position);
    }, 0);
    result.data[place] = tensor.data[source];
  });
  return [result];
}

function gatherND([tensor, indices]) {
  const depth = indices.dims[indices.dims.length - 1];
  const behind = tensor.dims.slice(depth);
  const [strides, length] = [stridesOf(tensor.dims), product(behind)];
  const result = zeros(tensor.type, [...indices.dims.slice(0, -1), ...behind]);
  for (let row = 0; row * depth < indices.data.length; row++) {
    let start = 0;
    for (let axis = 0; axis < depth; axis++) {
      start += strides[axis] * positiveAxis(indices.data[row * depth + axis], tensor.dims[axis]);
    }
    result.data.set(tensor.data.subarray(start, start + length), row * length);
  }
  return [result];
}

function range([start, limit, delta]) {
  const count = Math.max(0, Math.ceil((limit.data[0] - start.data[0]) / delta.data[0]));
  const result = zeros(start.type, [count]);
  for (let i = 0; i < count; i++) result.data[i] = start.data[0] + i * delta.data[0];
  return [result];
}

function constantOfShape([target], { type = "float", value = 0 }) {
  const result = zeros(type, Array.from(target.data));
  result.data.fill(value);
  return [result];
}

/** Unique rows in order, the first place of each, and the row of each place; elements are 0–65535, as blocks are. */
function unique([tensor], { axis }) {
  if (axis !== 0 || tensor.dims.length !== 2) throw new Error("Unique is only supported for the rows of a matrix.");
  const [numRows, length] = tensor.dims;
  const keys = Array.from({ length: numRows }, (_, row) =>
    String.fromCharCode(...tensor.data.subarray(row * length, (row + 1) * length)));
  const distinct = Array.from(new Set(keys)).sort((a, b) => (a < b ? -1 : 1));
  const places = new Map(distinct.map((key, index) => [key, index]));
  const inverse = keys.map((key) => places.get(key));
  const firsts = distinct.map((key) => keys.indexOf(key));
  return [gather([tensor, integers(firsts)], {})[0], integers(firsts), integers(inverse)];
}

export const LAYOUT = {
  Concat: concat,
  ConstantOfShape: constantOfShape,
  Expand: expand,
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherND,
  Identity: ([tensor]) => [tensor],
  Pad: pad,
  Range: range,
  Reshape: reshape,
  Shape: shape,
  Slice: slice,
  Split: split,
  Squeeze: squeeze,
  Transpose: transpose,
  Unique: unique,
  Unsqueeze: unsqueeze,
};
