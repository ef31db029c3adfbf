/** Operators that compute each element alone, with broadcasting. Floats are rounded to 32 bits after each operator. */

import { broadcastDims, broadcastStrides, forEachRow, product, zeros } from "./tensors.js";

const EXACT = 2 ** 53;

/**
 * Returns an operator of two tensors.
 * @param {(a: number, b: number) => number} ofFloats
 * @param {(a: number, b: number) => number} [ofIntegers] - the same as `ofFloats` if it is left out
 */
function binary(ofFloats, ofIntegers = ofFloats) {
  return ([a, b]) => [map2(a, b, a.type, a.type === "int" ? ofIntegers : ofFloats)];
}

/** Returns an operator of two tensors whose result is a truth value. */
function comparison(compare) {
  return ([a, b]) => [map2(a, b, "bool", compare)];
}

function map2(a, b, type, compute) {
  const result = zeros(type, broadcastDims(a.dims, b.dims));
  const [x, y, out] = [a.data, b.data, result.data];
  walk2(a, b, result.dims, (i, j, target, length, iStep, jStep) => {
    for (let n = 0; n < length; n++, i += iStep, j += jStep) out[target + n] = compute(x[i], y[j]);
  });
  return result;
}

/**
 * Calls `visit` for pieces of two tensors that are broadcast against each other, as large as possible.
 * @param {(i: number, j: number, target: number, length: number, iStep: number, jStep: number) => void} visit - gets
 *     where a piece begins in `a`, in `b` and in the result, its length, and the steps in `a` and `b`
 */
function walk2(a, b, dims, visit) {
  const [whole, part] = [a.data.length, b.data.length];
  if (whole === product(dims) && isSuffix(b.dims, a.dims)) { // the same shape, or a bias
    for (let start = 0; start < whole; start += part) visit(start, 0, start, part, 1, 1);
  } else if (whole === product(dims) && part === 1) {
    visit(0, 0, 0, whole, 1, 0);
  } else {
    const strides = [a, b].map((tensor) => broadcastStrides(tensor.dims, dims));
    const length = dims[dims.length - 1];
    const [iStep, jStep] = strides.map((steps) => steps[dims.length - 1]);
    forEachRow(dims, strides, ([i, j], row) => visit(i, j, row * length, length, iStep, jStep));
  }
}

function isSuffix(short, long) {
  return short.every((size, index) => size === long[long.length - short.length + index]);
}

/** Sums and products of floats take most of the time outside matrix products, so their loops call no function. */
function add([a, b]) {
  if (a.type !== "float") return [map2(a, b, a.type, (x, y) => x + y)];
  const result = zeros("float", broadcastDims(a.dims, b.dims));
  const [x, y, out] = [a.data, b.data, result.data];
  walk2(a, b, result.dims, (i, j, target, length, iStep, jStep) => {
    for (let n = 0; n < length; n++, i += iStep, j += jStep) out[target + n] = x[i] + y[j];
  });
  return [result];
}

function multiply([a, b]) {
  if (a.type !== "float") return [map2(a, b, a.type, exactProduct)];
  const result = zeros("float", broadcastDims(a.dims, b.dims));
  const [x, y, out] = [a.data, b.data, result.data];
  walk2(a, b, result.dims, (i, j, target, length, iStep, jStep) => {
    for (let n = 0; n < length; n++, i += iStep, j += jStep) out[target + n] = x[i] * y[j];
  });
  return [result];
}

function exactProduct(a, b) {
  const result = a * b;
  if (Math.abs(result) > EXACT) throw new Error(`the product ${a} · ${b} of whole numbers is above 2⁵³.`);
  return result;
}

/** Returns a modulo m, with the sign of m as in Python, for whole numbers up to 2⁵³. `%` is several times slower. */
function modulo(a, m) {
  const rest = a - Math.floor(a / m) * m; // the quotient may be rounded up or down by 1
  if (rest < 0 !== m < 0 && rest !== 0) return rest + m;
  return Math.abs(rest) >= Math.abs(m) ? rest - m : rest;
}

/** MulAddMod: (a · b + c) modulo m for 0 ≤ a, b, c < m < 2³¹. The product a · b itself can be above 2⁵³. */
function multiplyAddModulo([a, b, c, m]) {
  const [added, modulus] = [c.data[0], m.data[0]];
  const split = 1 << 16;
  return [map2(a, b, "int", (x, y) => {
    const high = Math.floor(x / split);
    return modulo(modulo(high * y, modulus) * split + (x - high * split) * y + added, modulus);
  })];
}

/** Returns an operator of one tensor of floats. */
function unary(compute) {
  return ([tensor]) => {
    const result = zeros("float", tensor.dims);
    const [from, to] = [tensor.data, result.data];
    for (let i = 0; i < from.length; i++) to[i] = compute(from[i]);
    return [result];
  };
}

// erf on a grid, from its series erf(x) = 2/√π · exp(−x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·…·(2n+1)).
const GRID = 64; // points per unit
const LIMIT = 6; // erf(6) is 1 in double precision
const ERF = Float64Array.from({ length: LIMIT * GRID + 1 }, (_, index) => {
  const x = index / GRID;
  let [term, sum] = [x, 0];
  for (let n = 0; term > 1e-20 * (sum + 1e-300); n++) {
    sum += term;
    term *= (2 * x * x) / (2 * n + 3);
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
});
const SLOPE = ERF.map((_, index) => (2 / Math.sqrt(Math.PI)) * Math.exp(-((index / GRID) ** 2)));

/** Returns erf(x) with an error below 1e-8: the Taylor polynomial of the nearest point of the grid. */
function erf(x) {
  const size = Math.abs(x);
  if (!(size < LIMIT)) return Number.isNaN(x) ? NaN : Math.sign(x);
  const index = Math.round(size * GRID);
  const point = index / GRID;
  const h = size - point;
  const value = ERF[index] + SLOPE[index] * h * (1 - point * h + ((2 * point * point - 1) / 3) * h * h);
  return x < 0 ? -value : value;
}

/** Gelu has a loop of its own: after matrix products it takes the most time. */
function gelu([tensor], { approximate }) {
  const result = zeros("float", tensor.dims);
  const [from, to] = [tensor.data, result.data];
  if (approximate === "tanh") {
    const root = Math.sqrt(2 / Math.PI);
    for (let i = 0; i < from.length; i++) {
      const x = from[i];
      to[i] = 0.5 * x * (1 + Math.tanh(root * (x + 0.044715 * x * x * x)));
    }
  } else {
    for (let i = 0; i < from.length; i++) to[i] = 0.5 * from[i] * (1 + erf(from[i] * Math.SQRT1_2));
  }
  return [result];
}

function clip([tensor, lowest, highest]) {
  const low = lowest ? lowest.data[0] : -Infinity;
  const high = highest ? highest.data[0] : Infinity;
  const result = zeros(tensor.type, tensor.dims);
  tensor.data.forEach((value, index) => (result.data[index] = Math.min(Math.max(value, low), high)));
  return [result];
}

function where([condition, yes, no]) {
  const dims = [condition, yes, no].reduce((shape, tensor) => broadcastDims(shape, tensor.dims), []);
  const result = zeros(yes.type, dims);
  const strides = [condition, yes, no].map(
    (tensor) => (dims.length ? broadcastStrides(tensor.dims, dims) : [0]));
  const shape = dims.length ? dims : [1];
  const length = shape[shape.length - 1];
  const [cStep, yStep, nStep] = strides.map((steps) => steps[steps.length - 1]);
  forEachRow(shape, strides, ([c, y, n], row) => {
    for (let i = 0; i < length; i++) {
      result.data[row * length + i] = condition.data[c + i * cStep] ? yes.data[y + i * yStep] : no.data[n + i * nStep];
    }
  });
  return [result];
}

function cast([tensor], { to }) {
  const result = zeros(to, tensor.dims);
  if (to === "bool") tensor.data.forEach((value, index) => (result.data[index] = value !== 0 ? 1 : 0));
  else if (to === "int" && tensor.type === "float") result.data.set(tensor.data.map(Math.trunc));
  else result.data.set(tensor.data);
  return [result];
}

export const ELEMENTWISE = {
  Abs: unary(Math.abs),
  Add: add,
  And: comparison((a, b) => a & b),
  Cast: cast,
  Clip: clip,
  Div: binary((a, b) => a / b, (a, b) => Math.trunc(a / b)),
  Equal: comparison((a, b) => (a === b ? 1 : 0)),
  Erf: unary(erf),
  Exp: unary(Math.exp),
  Gelu: gelu,
  Greater: comparison((a, b) => (a > b ? 1 : 0)),
  GreaterOrEqual: comparison((a, b) => (a >= b ? 1 : 0)),
  Less: comparison((a, b) => (a < b ? 1 : 0)),
  LessOrEqual: comparison((a, b) => (a <= b ? 1 : 0)),
  Log: unary(Math.log),
  Max: binary(Math.max),
  Min: binary(Math.min),
  Mod: binary(modulo),
  Mul: multiply,
  MulAddMod: multiplyAddModulo,
  Not: ([tensor]) => [{ ...tensor, data: tensor.data.map((value) => 1 - value) }],
  Or: comparison((a, b) => a | b),
  Pow: binary(Math.pow),
  Sigmoid: unary((x) => 1 / (1 + Math.exp(-x))),
  Softplus: unary((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))),
  Sqrt: unary(Math.sqrt),
  Sub: binary((a, b) => a - b),
  Tanh: unary(Math.tanh),
  Where: where,
};
