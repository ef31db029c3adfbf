/**
 * The page that learns: a person gives labels some texts, and a classifier follows. This file joins the parts.
 *
 * The same text is the program of the worker: without a document it serves the page instead of drawing one.
 */

import { drawBars, drawVerdict } from "./answers.js";
import { readTexts, writeCsv } from "./csv.js";
import { FirstHead } from "./first_head.js";
import { element, linkToCard, make, showFailure, speak } from "./frame.js";
import { LabelCards } from "./label_cards.js";
import { drawAccuracy, drawUnsure, sayAccuracy } from "./lessons.js";
import { makeCheckpoint, makePage } from "./made_files.js";
import { serve, startModel } from "./model_worker.js";
import { jsonOf, readWeights } from "./page_data.js";
import { createTeaching } from "./teaching.js";

const MOST_TEXTS = 10_000;
const LEARN_AFTER_MS = 300; // when the person pauses
const SPEAK_AFTER_MS = 1500; // a screen reader hears the accuracy when the person pauses
const FEWEST = 2; // labels, and texts of each
const ASK = "Give at least two labels two texts each.";
const EXAMPLE = {
  Sport: [
    "The striker scored twice in the final.", "She won the marathon in record time.", "He broke his leg in the first half.",
    "The coach was dismissed after five defeats.", "Our team lost in extra time.", "The goalkeeper saved a penalty.",
    "The match was cancelled because of rain.", "The champion is out in the second round.",
  ],
  Food: [
    "Fry the onions in butter until golden.", "Add salt, pepper and a little cream.", "The bread must rise for two hours.",
    "This soup needs more garlic.", "Bake the cake at a low heat.", "Serve the fish with lemon and rice.",
    "Peel the potatoes and cut them small.", "A good cheese goes well with pears.",
  ],
  Weather: [
    "Heavy rain is expected in the north.", "It will be sunny and warm tomorrow.", "Snow fell on the mountains last night.",
    "A storm is coming from the sea.", "Fog in the morning, then clear skies.", "Temperatures drop below zero tonight.",
    "A light wind from the west.", "Thunder and hail in the afternoon.",
  ],
};

/** Starts the page on its manifest and weights. */
async function startPage() {
  const manifest = jsonOf("manifest");
  linkToCard(manifest);
  try {
    const weights = await readWeights();
    const made = { manifest, weights, template: jsonOf("page"), files: jsonOf("checkpoint") };
    const state = { made, lesson: null, isSaved: true, send: null, cards: null };
    state.send = await startModel({ manifest, weights }, (message) => receive(state, message), createTeaching);
    element("note").textContent = ASK;
    listen(state);
  } catch (error) {
    showFailure(error);
  }
}

function listen(state) {
  let waiting;
  const cards = new LabelCards(element("cards"), () => {
    state.isSaved = false;
    element("lesson").classList.add("old");
    element("rows").classList.add("old");
    clearTimeout(waiting);
    waiting = setTimeout(() => learn(state), LEARN_AFTER_MS);
  });
  state.cards = cards;
  cards.addCard();
  cards.addCard();
  element("add").addEventListener("click", () => cards.addCard().querySelector("input").focus());
  element("example").addEventListener("click", () => {
    cards.add(Object.entries(EXAMPLE).flatMap(([label, texts]) => texts.map((text) => ({ text, label }))));
    element("example").hidden = true;
    element("add").focus();
  });
  listenToFiles(cards);
  element("text").addEventListener("input", () => state.send({ text: element("text").value }));
  listenToTakes(state);
  window.onbeforeunload = (event) => {
    if (!state.isSaved && cards.rows().length) event.preventDefault();
  };
}

/** Opens files that the person chooses or drops. */
function listenToFiles(cards) {
  const read = async (files) => {
    for (const file of files) cards.add(readTexts(await file.arrayBuffer(), file.name));
  };
  element("files").addEventListener("change", async () => {
    await read([...element("files").files]);
    element("files").value = "";
  });
  const area = element("labels");
  const isOfFiles = (event) => event.dataTransfer.types.includes("Files");
  area.addEventListener("dragover", (event) => {
    if (isOfFiles(event)) event.preventDefault();
    area.classList.toggle("dropping", isOfFiles(event));
  });
  for (const name of ["dragleave", "drop"]) area.addEventListener(name, () => area.classList.remove("dropping"));
  area.addEventListener("drop", (event) => {
    if (!isOfFiles(event)) return;
    event.preventDefault();
    read([...event.dataTransfer.files]);
  });
}

function listenToTakes(state) {
  const title = () => element("name").value.trim() || element("name").placeholder;
  const fileName = () => title().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "classifier";
  element("take-page").addEventListener("click", async () => {
    download(await makePage(state.made, state.lesson, title()), `${fileName()}.html`);
  });
  element("take-checkpoint").addEventListener("click", () => {
    download(makeCheckpoint(state.made, state.lesson, title(), fileName()), `${fileName()}.zip`);
  });
  element("take-texts").addEventListener("click", () => {
    download(new Blob([writeCsv(state.cards.rows())], { type: "text/csv" }), `${fileName()}.csv`);
    state.isSaved = true;
  });
}

function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Lets the worker learn the texts, if they are enough. */
function learn(state) {
  const rows = state.cards.rows();
  const count = rows.length.toLocaleString("en");
  element("figure-texts").textContent = count;
  const known = new Map(state.cards.names().map((name) => [name, new Set()]));
  for (const { text, label } of rows) known.get(label).add(text);
  const isEnough = [...known.values()].filter((texts) => texts.size >= FEWEST).length >= FEWEST;
  const isTooMuch = rows.length > MOST_TEXTS;
  if (isEnough && !isTooMuch) return state.send({ rows });
  for (const id of ["lesson", "unsure", "try", "take"]) element(id).hidden = true;
  element("note").textContent = isTooMuch
    ? `${count} texts are too many for a page, which learns ${MOST_TEXTS.toLocaleString("en")} at most. Python's run_glue.py learns more.`
    : ASK;
  return undefined;
}

/** Takes a message of the worker. */
function receive(state, message) {
  if (message.failure) return showFailure(message.failure);
  if (message.progress !== undefined) {
    element("note").textContent = `Reading your texts … ${Math.round(100 * message.progress)} %`;
  } else if (message.lesson) {
    showLesson(state, message.lesson);
  } else {
    showAnswer(state, message);
  }
  return undefined;
}

function showLesson(state, lesson) {
  const hasNewLabels = state.lesson?.labels.join("\n") !== lesson.labels.join("\n");
  state.lesson = { ...lesson, head: new FirstHead(lesson.head) };
  element("note").textContent = "";
  for (const id of ["lesson", "unsure", "try", "take"]) element(id).hidden = false;
  element("lesson").classList.remove("old");
  drawAccuracy(element, lesson);
  drawUnsure(element("rows"), lesson, state.cards.names(), (row, to) => state.cards.move(row, to));
  element("figure-ms").textContent = lesson.ms < 1000 ? `${Math.round(lesson.ms)} ms` : `${(lesson.ms / 1000).toFixed(1)} s`;
  if (hasNewLabels) {
    element("bars").replaceChildren();
    showAnswer(state, { text: "", answer: { units: [] } });
  }
  const root = document.documentElement.dataset;
  Object.assign(root, { labels: JSON.stringify(lesson.labels), accuracy: lesson.accuracy, interval: JSON.stringify(lesson.interval) });
  root.texts = lesson.rows.length;
  speak(sayAccuracy(lesson), SPEAK_AFTER_MS);
}

/** Shows the label of the text to try. A click on a bar adds the text to that label. */
function showAnswer(state, { text, answer }) {
  const manifest = { task: "single_label", labels: state.lesson.labels };
  drawVerdict(element("verdict"), manifest, answer);
  drawBars(element("bars"), manifest, answer.units.length ? answer : null, null, (label) => {
    const line = text.replace(/\s+/g, " ").trim();
    if (!line) return;
    state.cards.add([{ text: line, label: manifest.labels[label] }]);
    element("text").value = "";
    element("text").focus();
    state.send({ text: "" });
  });
  for (const bar of element("bars").children) bar.removeAttribute("aria-pressed");
  const root = document.documentElement.dataset;
  if (text) Object.assign(root, { label: answer.label, probabilities: JSON.stringify(answer.probabilities) });
}

if (typeof document === "undefined") serve(globalThis, createTeaching);
else startPage();
