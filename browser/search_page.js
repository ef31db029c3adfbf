/**
 * The search page: a person writes, and the nearest passages follow. This file joins the parts.
 *
 * The same text is the program of the worker: without a document it serves the page instead of drawing one. Texts of
 * documents only ever become text nodes, and their links only addresses of the web or of files.
 */

import { keepInAddress, onNewAddress } from "./address.js";
import { copyText, element, linkToCard, make, showFailure, speak, timeText } from "./frame.js";
import { bytesOfBase64, jsonOf, readWeights } from "./page_data.js";
import { linkToPassage } from "./passage_links.js";
import { serve, startModel } from "./model_worker.js";
import { createSearch } from "./searching.js";

const SPEAK_AFTER_MS = 800; // a screen reader hears the results when the person pauses

const FIT = "Half of it is the similarity of meaning, half the share of your words that the passage has; rare words count more";

const field = () => element("query");

/** Starts the page on its documents, vectors and weights. */
async function startPage() {
  const manifest = jsonOf("manifest");
  element("figure-passages").textContent = manifest.passages.toLocaleString("en");
  linkToCard(manifest);
  drawContents(manifest);
  moveByKeys();
  element("copy").addEventListener("click", copyTexts);
  try {
    const parts = {
      manifest,
      documents: element("documents").textContent,
      weights: await readWeights(),
      vectors: bytesOfBase64(element("vectors").textContent.trim()),
    };
    for (const id of ["documents", "weights", "vectors"]) element(id).remove(); // the worker has them
    const state = { query: "", results: [] };
    const send = await startModel(parts, (message) => receive(state, message), createSearch);
    element("note").textContent = "";
    listen(send);
  } catch (error) {
    showFailure(error, "search");
  }
}

/** Writes what an empty page shows: what is inside, and queries to try. */
function drawContents({ passages, contents: { documents, titles, examples } }) {
  const [texts, parts] = [documents, passages].map((count) => count.toLocaleString("en"));
  const more = documents > titles.length ? [`and ${(documents - titles.length).toLocaleString("en")} more`] : [];
  const sentence = `${parts} passages of ${texts} ${documents === 1 ? "document" : "documents"}: ${[...titles, ...more].join(" · ")}`;
  element("contents").textContent = sentence;
  const buttons = examples.map((example) => {
    const button = make("button", { type: "button" }, example);
    button.addEventListener("click", () => {
      field().value = example;
      field().dispatchEvent(new Event("input"));
      field().focus();
    });
    return button;
  });
  element("examples").replaceChildren(...buttons);
}

/** Searches whenever the field changes, and for the query of the address. */
function listen(send) {
  const search = (isExact) => {
    element("results").classList.add("old");
    element("results").ariaBusy = "true";
    send({ query: field().value, isExact });
  };
  field().addEventListener("input", () => {
    search(false);
    keepInAddress(field().value ? { q: field().value } : {});
  });
  const readAddress = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    if (given.has("q")) field().value = given.get("q");
    search(given.has("exact"));
  };
  onNewAddress(readAddress);
  readAddress();
}

/** Takes a message of the worker: results, words that are near in meaning, or a failure. */
function receive(state, message) {
  if (message.failure) return showFailure(message.failure, "search");
  if (message.near) {
    if (message.query === state.query) drawNear(state.results, message.near);
    return undefined;
  }
  Object.assign(state, { query: message.query, results: message.results });
  element("inside").hidden = Boolean(message.query.trim());
  const said = drawNote(message);
  drawResults(state.results);
  const list = state.results.map(({ document: title, passage, score, fit, similarity }) => ({ document: title, passage, score, fit, similarity }));
  document.documentElement.dataset.results = JSON.stringify(list);
  document.documentElement.dataset.corrected = message.corrected;
  document.documentElement.dataset.fits = message.fits;
  document.documentElement.dataset.query = message.query;
  element("figure-ms").textContent = message.query.trim() ? timeText(message.ms) : "–";
  const [first] = state.results;
  speak(first ? `${said}${state.results.length} passages. The first is from ${first.document}: ${first.passage}` : "", SPEAK_AFTER_MS);
  return undefined;
}

/** Says for which words the results are, with a link to those that were written, and if no passage fits; returns it. */
function drawNote({ query, corrected, fits }) {
  const [note, parts] = [element("note"), []];
  if (corrected !== query) {
    const written = make("a", { href: `#${new URLSearchParams({ q: query, exact: "1" })}` }, query);
    parts.push("Results for ", make("strong", { dir: "auto" }, corrected), "; search for ", written, ". ");
  }
  if (!fits) parts.push("No passage fits. These are the nearest. ");
  note.replaceChildren(...parts);
  return note.textContent;
}

/** Copies the passages that are shown, one on each line: the page that learns takes such lines as texts of a label. */
function copyTexts() {
  const lines = [...document.querySelectorAll(".passage")].map((text) => text.textContent.replace(/\s+/g, " ").trim());
  copyText(lines.join("\n"), element("copy"), "Copy these texts", "Copied", "This browser does not permit it");
}

function drawResults(results) {
  const list = element("results");
  element("copy").hidden = !results.length || !navigator.clipboard;
  const hadFocus = list.contains(document.activeElement);
  list.replaceChildren(...results.map(drawResult));
  list.classList.remove("old");
  list.ariaBusy = "false";
  if (hadFocus) (list.firstElementChild ?? field()).focus();
}

function drawResult(result, index) {
  const { document: title, heading: above, passage, link, file, fit } = result;
  const href = linkToPassage(link, passage.slice(above.length).trim());
  const path = (above.split("\n")[0] === title ? above : `${title}\n${above}`).trim().replaceAll("\n", " › ");
  const name = make("span", {}, href ? make("a", { href, target: "_blank", rel: "noopener noreferrer" }, path) : path);
  if (file) name.append(" ", make("small", {}, file));
  const percent = Math.max(0, Math.round(100 * fit));
  const figure = make("span", { className: "fit", title: FIT }, `fit ${percent} %`);
  const text = make("p", { className: "passage", dir: "auto" });
  markWords(text, result, []);
  const heading = make("h2", { dir: "auto" }, name, figure);
  return make("li", { className: "result", tabIndex: index ? -1 : 0 }, heading, text);
}

/** Marks in each result the words that are near in meaning. */
function drawNear(results, near) {
  const texts = document.querySelectorAll(".passage");
  results.forEach((result, index) => markWords(texts[index], result, near[index]));
}

/** Writes a passage with the words of the query, and those near in meaning, marked; its heading stands above it. */
function markWords(place, { heading, passage, found }, near) {
  const isFound = new Set(found.map(([start]) => start));
  let position = heading ? heading.length + 1 : 0;
  const marks = [...found, ...near.filter(([start]) => !isFound.has(start))]
    .filter(([start]) => start >= position)
    .sort((one, other) => one[0] - other[0]);
  place.replaceChildren();
  for (const [start, end] of marks.filter(([from], index) => !marks.slice(0, index).some(([, to]) => from < to))) {
    const mark = make("mark", isFound.has(start) ? {} : { className: "near" }, passage.slice(start, end));
    place.append(passage.slice(position, start), mark);
    position = end;
  }
  place.append(passage.slice(position));
}

/** Arrow keys move from the field to the results and between them; Enter opens one; Escape and / lead to the field. */
function moveByKeys() {
  const items = () => [...element("results").children];
  addEventListener("keydown", (event) => {
    const now = items().findIndex((item) => item.contains(document.activeElement));
    const isInField = document.activeElement === field();
    const steps = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items().length - 1 };
    if ((event.key === "Escape" && now >= 0) || (event.key === "/" && !isInField)) field().focus();
    else if (event.key === "Enter" && document.activeElement === items()[now]) items()[now].querySelector("a")?.click();
    else if (isInField ? event.key !== "ArrowDown" : now < 0 || !(event.key in steps)) return;
    else (items()[Math.min(steps[event.key], items().length - 1)] ?? field()).focus();
    event.preventDefault();
  });
  element("results").addEventListener("focusin", ({ target }) => {
    items().forEach((item) => (item.tabIndex = item.contains(target) ? 0 : -1));
  });
}

if (typeof document === "undefined") serve(globalThis, createSearch);
else startPage();
