/** The files that a page makes of a lesson: a classifier page and a checkpoint for Python. */

import { readConstant } from "./graph.js";
import { whole } from "./lessons.js";
import { zip } from "./zip.js";

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };

/**
 * Returns a classifier page in one file, the same that the verb `space` makes of the checkpoint.
 * @param {{manifest: object, weights: ArrayBuffer, template: string}} parts - `template` is a page with {{places}}
 * @param {import("./teaching.js").Lesson} lesson
 * @param {string} title
 * @returns {Promise<Blob>}
 */
export async function makePage({ manifest, weights, template }, lesson, title) {
  const { graph, buffer } = withHead(manifest, weights, lesson.head.tensors());
  const made = {
    title, task: "single_label", labels: lesson.labels, takes_pairs: false, tokenizer: manifest.tokenizer, examples: [],
    model_card: null, graph,
  };
  const parts = {
    title: title.replace(/[&<>"']/g, (letter) => ENTITIES[letter]),
    manifest: JSON.stringify(made).replaceAll("<", "\\u003c"),
    weights: await base64Of(buffer),
  };
  return new Blob([fill(template, parts)], { type: "text/html" });
}

/**
 * Returns a checkpoint folder that `AutoModelForSequenceClassification` loads, as a zip file.
 * @param {{manifest: object, weights: ArrayBuffer, files: Object<string, string>}} parts - `files` are all but the weights
 * @param {import("./teaching.js").Lesson} lesson
 * @param {string} title
 * @param {string} folder - its name
 * @returns {Blob}
 */
export function makeCheckpoint({ manifest, weights, files }, lesson, title, folder) {
  const config = JSON.parse(files["config.json"]);
  config.id2label = Object.fromEntries(lesson.labels.map((label, i) => [i, label]));
  config.label2id = Object.fromEntries(lesson.labels.map((label, i) => [label, i]));
  const tensors = { ...readTensors(manifest, weights), ...lesson.head.tensors() };
  const made = {
    ...files,
    "config.json": `${JSON.stringify(config, null, 2)}\n`,
    "README.md": fill(files["README.md"], cardParts(lesson, title)),
    "model.safetensors": safetensors(tensors),
  };
  return zip(Object.fromEntries(Object.entries(made).map(([path, content]) => [`${folder}/${path}`, content])));
}

/** Returns a template with each {{name}} replaced by its part; what a part holds is never replaced. */
function fill(template, parts) {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

function cardParts({ labels, rows, accuracy, interval }, title) {
  const count = (label) => rows.filter((row) => row.label === label).length;
  const inCell = (text) => text.replace(/[\\|<>`*_[\]]/g, "\\$&");
  return {
    title: title.replace(/\s+/g, " "),
    texts: String(rows.length),
    labels: labels.map((label) => `| ${inCell(label)} | ${count(label)} |`).join("\n"),
    accuracy: whole(accuracy),
    interval: interval.map(whole).join(" to "),
  };
}

/** Returns the graph and the weights of a page with the tensors of a head in the places of those that it was made with. */
function withHead({ graph, tensors: places }, weights, head) {
  const constants = graph.constants.slice();
  const parts = [weights, new Uint8Array(-weights.byteLength & 3)]; // float32 numbers are aligned to 4 bytes
  let offset = weights.byteLength + parts[1].length;
  for (const [name, tensor] of Object.entries(head)) {
    const { dims, data } = places[name].transposed ? transposed(tensor) : tensor;
    constants[places[name].constant] = { type: "float", dims, offset };
    parts.push(data);
    offset += data.byteLength;
  }
  const { logits } = graph.outputs;
  return { graph: { ...graph, constants, outputs: { logits } }, buffer: new Blob(parts) };
}

/** Returns the tensors of the model by name, from the constants of the graph. */
function readTensors({ graph, tensors }, weights) {
  const read = ({ constant, transposed: isTransposed }) => {
    const tensor = readConstant(typeof constant === "number" ? graph.constants[constant] : constant, weights);
    return isTransposed ? transposed(tensor) : tensor;
  };
  return Object.fromEntries(Object.entries(tensors).map(([name, place]) => [name, read(place)]));
}

function transposed({ dims: [rows, columns], data }) {
  return { dims: [columns, rows], data: data.map((_, i) => data[(i % rows) * columns + Math.floor(i / rows)]) };
}

/** Returns float32 tensors in the format safetensors. */
function safetensors(tensors) {
  const header = { __metadata__: { format: "pt" } };
  let size = 0;
  for (const [name, { dims, data }] of Object.entries(tensors)) {
    header[name] = { dtype: "F32", shape: dims, data_offsets: [size, size + data.byteLength] };
    size += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = 8 + text.length + (-text.length & 7); // numbers are aligned to 8 bytes
  const bytes = new Uint8Array(start + size).fill(32, 8 + text.length, start);
  new DataView(bytes.buffer).setUint32(0, start - 8, true);
  bytes.set(text, 8);
  for (const [name, { data }] of Object.entries(tensors)) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), start + header[name].data_offsets[0]);
  }
  return bytes;
}

function base64Of(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
