/**
 * The table of operators, by their names in ONNX. An operator takes its input tensors, its attributes and the run's
 * context, and returns its output tensors. The exporter reads the names of this table from the three files and names
 * an operator that is missing, so a page never meets one.
 */

import { ELEMENTWISE } from "./elementwise.js";
import { LAYOUT } from "./layout.js";
import { REDUCTIONS } from "./reductions.js";

export const OPERATORS = { ...ELEMENTWISE, ...LAYOUT, ...REDUCTIONS };
