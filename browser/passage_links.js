/** Links to a passage in its document: text fragments, which browsers scroll to and highlight. */

const SAFE = /^(?:https?|file):/i;
const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const WORDS = 6; // at the beginning and at the end of a passage that name it

/**
 * Returns the address of a passage; null for a document without a link, and for a link that is no address of the web, of
 * a file, or beside the page.
 * @param {string | null | undefined} link
 * @param {string} passage
 * @returns {string | null}
 */
export function linkToPassage(link, passage) {
  const address = (link ?? "").trim();
  if (!address || /[\x00-\x20\x7f]/.test(address) || (HAS_SCHEME.test(address) && !SAFE.test(address))) return null;
  const fragment = fragmentOf(passage);
  return `${address}${address.includes("#") ? "" : "#"}${fragment}`;
}

/** `:~:text=first words,last words`, or all words of a short passage. Only within a line: browsers find no other. */
function fragmentOf(passage) {
  const lines = passage.split("\n").map((line) => line.split(" ").filter(Boolean)).filter((words) => words.length);
  const [first, last] = [lines[0] ?? [], lines.at(-1) ?? []];
  if (lines.length <= 1 && first.length <= 2 * WORDS) return `:~:text=${encoded(first)}`;
  return `:~:text=${encoded(first.slice(0, WORDS))},${encoded(last.slice(-WORDS))}`;
}

function encoded(words) {
  return encodeURIComponent(words.join(" ").toWellFormed?.() ?? words.join(" ")).replaceAll("-", "%2D");
}
