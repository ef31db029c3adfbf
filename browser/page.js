/**
 * The page: a person writes, and the answer of the classifier follows. This file joins the parts.
 *
 * The same text is the program of the worker: without a document it serves the page instead of drawing one.
 */

import { addressOf, inputOfAddress, keepInAddress, onNewAddress } from "./address.js";
import { drawBars, drawVerdict, sayVerdict } from "./answers.js";
import { copyText, element, linkToCard, make, showFailure, speak, timeText } from "./frame.js";
import { serve, startModel } from "./model_worker.js";
import { jsonOf, readWeights } from "./page_data.js";
import { likeliest } from "./pulls.js";
import { createReading } from "./reading.js";
import { drawTagLegend, drawTaggedWords } from "./tagged_words.js";
import { drawPullLegend, drawWordMap } from "./word_map.js";
import { moveByArrowKeys } from "./word_drawing.js";

/** Task → what the page asks for, and the heading of the words. A new task is a row. */
const TASK_TEXTS = {
  single_label: { hint: "The label follows as you write.", words: "Which words did it" },
  multi_label: { hint: "Each label is judged on its own, as you write.", words: "Which words did it" },
  regression: { hint: "The number follows as you write.", words: "Which words did it" },
  tags: { hint: "The words are tagged as you write.", words: "Tagged words" },
};
const LONG_LABEL = 14; // characters; longer ones need two lines
const SPEAK_AFTER_MS = 800; // a screen reader hears the answer when the person pauses

/** Starts the page on its manifest and weights. */
async function startPage() {
  const manifest = jsonOf("manifest");
  const state = { manifest, chosen: null, answer: null, without: [], isDone: false };
  drawFrame(manifest);
  element("figure-tokens").textContent = `${manifest.tokenizer.max_tokens} tokens`;
  try {
    const parts = { manifest, weights: await readWeights() };
    listen(state, await startModel(parts, (message) => receive(state, message), createReading));
  } catch (error) {
    showFailure(error);
  }
}

/** Draws what does not depend on a text, so that nothing moves when the first answer comes. */
function drawFrame(manifest) {
  const task = TASK_TEXTS[manifest.task];
  document.documentElement.dataset.task = manifest.task;
  element("hint").textContent = `${task.hint} The whole classifier is in this page.`;
  element("words-title").textContent = task.words;
  element("pair-field").hidden = !manifest.is_pair;
  if (manifest.is_pair) element("text-name").textContent = "First text";
  element("answer").hidden = manifest.task === "tags";
  linkToCard(manifest);
  if (manifest.task === "tags") drawTagLegend(element("legend"), manifest.labels);
  else drawPullLegend(element("legend"), manifest.task, null);
  const longest = Math.max(...manifest.labels.map((label) => label.length));
  if (longest > LONG_LABEL) document.documentElement.dataset.longLabels = "";
  drawExamples(manifest.examples ?? []);
  drawBars(element("bars"), manifest, null, null, () => {});
  moveByArrowKeys(element("map"));
}

function drawExamples(examples) {
  const buttons = examples.map((example) => {
    const input = inputOfExample(example);
    const title = input.pair ? `${input.text} / ${input.pair}` : input.text;
    const button = make("button", { type: "button", title }, title);
    button.addEventListener("click", () => {
      fill(input);
      element("text").dispatchEvent(new Event("input"));
    });
    return button;
  });
  element("examples").replaceChildren(...buttons);
  element("examples").hidden = buttons.length === 0;
}

/** An example is a text or a list of two texts. */
function inputOfExample(example) {
  const [text, pair] = [].concat(example);
  return { text, pair };
}

/** Puts texts into the fields. */
function fill({ text, pair }) {
  element("text").value = text;
  element("pair").value = pair ?? "";
}

/** Reads the texts of the fields whenever they change, and those of the address. */
function listen(state, send) {
  const { manifest } = state;
  const current = () => ({
    text: element("text").value,
    ...(manifest.is_pair ? { pair: element("pair").value } : {}),
  });
  const read = (input) => {
    element("map").classList.add("old");
    element("map").ariaBusy = "true";
    element("link").href = addressOf(input);
    send(input);
  };
  for (const id of ["text", "pair"]) {
    element(id).addEventListener("input", () => {
      read(current());
      keepInAddress(current());
    });
  }
  const readAddress = () => {
    const given = inputOfAddress(location.hash);
    if (!given) return false;
    fill(given);
    read(current());
    return true;
  };
  onNewAddress(readAddress);
  element("link").addEventListener("click", (event) => copyLink(event, addressOf(current())));
  if (readAddress()) return;
  fill(inputOfExample(manifest.examples?.[0] ?? ""));
  read(current());
}

/** Copies the address where the browser permits it; everywhere else the link is an ordinary one. */
function copyLink(event, hash) {
  if (!navigator.clipboard) return;
  event.preventDefault();
  history.replaceState(null, "", hash);
  copyText(location.href, element("link"), "Link to this text", "Link copied", "The link is in the address bar");
}

/** Takes a message of the model: an answer, a part of the word map, or a failure. */
function receive(state, message) {
  if (message.failure) return showFailure(message.failure);
  if (message.answer) {
    Object.assign(state, { answer: message.answer, input: message.input, without: [], isDone: false });
    showAnswer(state);
  } else if (message.without) {
    Object.assign(state, { without: message.without, isDone: message.isDone });
    showMap(state);
  } else {
    element("figure-ms").textContent = timeText(message.ms);
  }
}

function showAnswer(state) {
  const { manifest, answer } = state;
  const { label, probabilities, logits } = answer;
  const root = document.documentElement.dataset;
  root.label = typeof label === "string" ? label : JSON.stringify(label);
  root.probabilities = JSON.stringify(manifest.task === "regression" ? logits : probabilities);
  element("figure-ms").textContent = timeText(answer.ms);
  element("note").textContent = answer.truncated
    ? `The text is too long for the model: it reads ${answer.units.length} of its words.`
    : "";
  drawVerdict(element("verdict"), manifest, answer);
  drawBars(element("bars"), manifest, answer.units.length ? answer : null, state.chosen, (label) => {
    state.chosen = label;
    showAnswer(state);
    showMap(state);
  });
  if (manifest.task === "tags") {
    drawTaggedWords(element("map"), element("detail"), manifest.labels, state.input, answer);
    showMapIsNew(true);
  }
  speak(sayVerdict(manifest, answer), SPEAK_AFTER_MS);
}

function showMap(state) {
  if (state.manifest.task === "tags") return;
  const target = state.chosen ?? likeliest(state.answer);
  const isNamed = state.chosen !== null || state.answer.units.length > 0;
  drawPullLegend(element("legend"), state.manifest.task, isNamed ? state.manifest.labels[target] : null);
  drawWordMap(element("map"), element("detail"), state, target);
  showMapIsNew(state.isDone);
}

function showMapIsNew(isDone) {
  element("map").classList.remove("old");
  element("map").ariaBusy = String(!isDone);
}

if (typeof document === "undefined") serve(globalThis, createReading);
else startPage();
