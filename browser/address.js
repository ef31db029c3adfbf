/** The text in the address of a page, `#text=…&pair=…` or `#q=…`, to share a finding. The server never sees it. */

const LONGEST_TEXT = 2000; // characters; longer addresses break in mails and messengers
const WRITE_AFTER_MS = 400; // browsers limit how often a page may change its address

/**
 * @param {string} hash the part of an address from `#` on
 * @returns {{text: string, pair?: string} | null} null if it names no text
 */
export function inputOfAddress(hash) {
  const fields = new URLSearchParams(hash.slice(1));
  if (!fields.has("text")) return null;
  return fields.has("pair") ? { text: fields.get("text"), pair: fields.get("pair") } : { text: fields.get("text") };
}

/**
 * @param {Object<string, string>} input name of a field → its text
 * @returns {string} `#text=…`, or `#` for texts that are too long for an address
 */
export function addressOf(input) {
  return Object.values(input).join("").length > LONGEST_TEXT ? "#" : `#${new URLSearchParams(input)}`;
}

let waiting;

/** Writes the input into the address when the person pauses; the history keeps one entry. */
export function keepInAddress(input) {
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(null, "", addressOf(input)), WRITE_AFTER_MS);
}

/** Calls a function when a link or the person changes the address. What waits to be written is older, and is dropped. */
export function onNewAddress(read) {
  addEventListener("hashchange", () => {
    clearTimeout(waiting);
    read();
  });
}
