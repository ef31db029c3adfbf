/** The labels and their texts, as a person writes them: a card for each label, a line for each text. */

import { make } from "./frame.js";

export class LabelCards {
  /**
   * @param {HTMLElement} place
   * @param {() => void} changed is called after each change
   */
  constructor(place, changed) {
    this.place = place;
    this.changed = changed;
    place.addEventListener("input", () => this.#tell());
  }

  /** Returns the texts and their labels, in the order of the cards. */
  rows() {
    return this.#cards().flatMap((card, index) => linesOf(card).map((text) => ({ text, label: nameOf(card, index) })));
  }

  /** Returns the names of the labels. */
  names() {
    return [...new Set(this.#cards().map(nameOf))];
  }

  /** Adds an empty card, and returns it. */
  addCard(name = "") {
    const input = make("input", { value: name, dir: "auto", autocomplete: "off", spellcheck: false });
    const remove = make("button", { type: "button", className: "remove" }, "×");
    const area = make("textarea", {
      dir: "auto", rows: 5, spellcheck: false, autocomplete: "off", placeholder: "One text in each line. Type them, or paste many.",
    });
    const top = make("div", { className: "top" }, input, make("span", { className: "count" }), remove);
    const card = make("fieldset", { className: "card" }, top, area);
    remove.addEventListener("click", () => {
      const next = card.nextElementSibling ?? card.previousElementSibling;
      card.remove();
      this.#tell();
      next?.querySelector("input").focus();
    });
    this.place.append(card);
    this.#number();
    return card;
  }

  /** Adds texts to the cards of their labels; a new label gets a card, at first one that is empty. */
  add(rows) {
    const linesOfLabel = new Map();
    for (const { text, label } of rows) (linesOfLabel.get(label) ?? linesOfLabel.set(label, []).get(label)).push(text);
    for (const [label, lines] of linesOfLabel) {
      const area = this.#cardOf(label).querySelector("textarea");
      area.value = [...area.value.split("\n").filter((line) => line.trim()), ...lines].join("\n");
    }
    this.#tell();
  }

  /** Moves a text to another label, or removes it if there is none. */
  move({ text, label }, to) {
    const card = this.#cards().find((each, index) => nameOf(each, index) === label && linesOf(each).includes(text));
    const area = card.querySelector("textarea");
    const lines = area.value.split("\n");
    lines.splice(lines.findIndex((line) => line.trim() === text), 1);
    area.value = lines.join("\n");
    this.add(to === null ? [] : [{ text, label: to }]);
  }

  #cards() {
    return [...this.place.children];
  }

  #cardOf(label) {
    const named = this.#cards().find((card, index) => nameOf(card, index) === label);
    const free = this.#cards().find((card) => !card.querySelector("input").value.trim() && !linesOf(card).length);
    const card = named ?? free ?? this.addCard();
    if (!named) card.querySelector("input").value = label;
    return card;
  }

  #tell() {
    this.#number();
    this.changed();
  }

  /** Writes what depends on the place of a card and on its texts. */
  #number() {
    this.#cards().forEach((card, index) => {
      const [input, area] = [card.querySelector("input"), card.querySelector("textarea")];
      const count = linesOf(card).length;
      input.placeholder = `Label ${index + 1}`;
      input.ariaLabel = `Name of label ${index + 1}`;
      area.ariaLabel = `Texts of ${nameOf(card, index)}, one in each line`;
      card.querySelector(".remove").ariaLabel = `Remove ${nameOf(card, index)}`;
      card.querySelector(".count").textContent = count === 1 ? "1 text" : `${count.toLocaleString("en")} texts`;
    });
  }
}

function nameOf(card, index) {
  return card.querySelector("input").value.trim() || `Label ${index + 1}`;
}

function linesOf(card) {
  return card.querySelector("textarea").value.split("\n").map((line) => line.trim()).filter(Boolean);
}
