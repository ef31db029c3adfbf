/** Learns labels from texts: reads each text once, fits the first head, and answers with the newest one. */

import { Encoder } from "./encoder.js";
import { crossValidate, FirstHead, intervalOf } from "./first_head.js";
import { foldsOf } from "./folds.js";
import { newMessages } from "./model_worker.js";
import { TASKS } from "./predictions.js";

const BATCH = 16; // texts that are read before waiting messages are let in

/**
 * @typedef {object} Lesson - what was learned
 * @property {string[]} labels - sorted
 * @property {FirstHead} head
 * @property {number} accuracy - of rows that were held out, 0 … 1
 * @property {[number, number]} interval - of the accuracy, 95 % sure
 * @property {number} constant - the accuracy of the most frequent label alone
 * @property {{text: string, label: string, probabilities: number[]}[]} rows - with the probabilities of `labels` when held out
 * @property {number} ms - without reading the texts
 */

/**
 * Loads the encoder of a page; returns a function that takes texts with labels to learn, or a text to label.
 * @param {{manifest: object, weights: ArrayBuffer}} parts
 * @param {(message: object) => void} send takes `{progress}`, a share, while texts are read; `{lesson}`; `{text, answer}`;
 *   or `{failure}`
 * @returns {Promise<(input: {rows: {text: string, label: string}[]} | {text: string}) => void>}
 */
export async function createTeaching({ manifest, weights }, send) {
  const encoder = new Encoder(manifest, weights);
  const vectors = new Map(); // text → what a head reads of it
  let lesson = null;
  let newest = null; // rows
  let isBusy = false;
  let asked = null; // the last text to label

  return async ({ rows, text }) => {
    try {
      if (rows) await learn(rows);
      else answer((asked = text));
    } catch (error) {
      isBusy = false;
      send({ failure: error.message });
    }
  };

  /** Returns whether other rows came in the meantime. */
  async function isOutdated() {
    await newMessages();
    return newest !== null;
  }

  async function learn(rows) {
    newest = rows;
    if (isBusy) return;
    isBusy = true;
    while (newest) {
      const now = newest;
      newest = null;
      const learned = (await read(now.map((row) => row.text))) && (await fit(now));
      if (!learned) continue;
      lesson = learned;
      send({ lesson });
      if (asked !== null) answer(asked);
    }
    isBusy = false;
  }

  /** Reads the texts that are new; returns false if other rows came. */
  async function read(texts) {
    const unread = [...new Set(texts)].filter((text) => !vectors.has(text));
    unread.sort((one, other) => one.length - other.length); // a batch is padded to its longest text
    for (let start = 0; start < unread.length; start += BATCH) {
      send({ progress: start / unread.length });
      const batch = unread.slice(start, start + BATCH);
      encoder.encode(batch).forEach((vector, i) => vectors.set(batch[i], Float64Array.from(vector)));
      if (await isOutdated()) return false;
    }
    return true;
  }

  /** Returns the lesson of rows whose texts are read; null if other rows came. */
  async function fit(rows) {
    const start = performance.now();
    const labels = [...new Set(rows.map(({ label }) => label))].sort(byCodePoint);
    const targets = rows.map(({ label }) => labels.indexOf(label));
    const inputs = rows.map(({ text }) => vectors.get(text));
    const found = await crossValidate(inputs, targets, labels.length, foldsOf(targets, rows.map(({ text }) => text)), isOutdated);
    if (!found) return null;
    const head = FirstHead.fit(inputs, targets, labels.length, found.strength);
    const predictions = found.logits.map((logits) => TASKS.single_label.predict(logits, labels));
    const accuracy = predictions.filter(({ label }, row) => label === rows[row].label).length / rows.length;
    const counts = labels.map((_, label) => targets.filter((target) => target === label).length);
    return {
      labels,
      head,
      accuracy,
      interval: intervalOf(accuracy, rows.length),
      constant: Math.max(...counts) / rows.length,
      rows: rows.map((row, i) => ({ ...row, probabilities: predictions[i].probabilities })),
      ms: performance.now() - start,
    };
  }

  function answer(text) {
    if (!lesson) return;
    const units = encoder.tokenizer.unitsOf(text).units;
    const [vector] = encoder.encode([text]);
    const logits = lesson.head.headLogits(Float64Array.from(vector));
    send({ text, answer: { units, ...TASKS.single_label.predict(logits, lesson.labels) } });
  }
}

/** The order of Python's strings. */
function byCodePoint(one, other) {
  const [first, second] = [Array.from(one), Array.from(other)];
  const place = first.findIndex((letter, i) => letter !== second[i]);
  return place < 0 ? first.length - second.length : first[place].codePointAt() - (second[place]?.codePointAt() ?? -1);
}
