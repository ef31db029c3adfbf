/** What people hand over as texts. */

const MOST_SHOWN = 60; // characters of what is no text

/**
 * Returns texts as a list, or of a model of pairs a list of lists of two texts.
 * @param {Iterable<string> | Iterable<[string, string]>} texts
 * @param {boolean} [isPair]
 * @returns {string[] | [string, string][]}
 * @throws {TypeError} they are something else, such as one text
 */
export function listOfTexts(texts, isPair = false) {
  const [kind, kinds] = isPair ? ["a list of two texts", "pairs of texts"] : ["a text", "texts"];
  if (typeof texts === "string" || typeof texts?.[Symbol.iterator] !== "function") {
    throw new TypeError(`${shown(texts)} is not a list of ${kinds}.`);
  }
  const isText = (each) => typeof each === "string";
  const list = Array.from(texts);
  for (const each of list) {
    const isRight = isPair ? Array.isArray(each) && each.length === 2 && each.every(isText) : isText(each);
    if (!isRight) throw new TypeError(`${shown(each)} is not ${kind}.`);
  }
  return list;
}

function shown(value) {
  const isJson = typeof value === "string" || (typeof value === "object" && value !== null);
  const text = isJson ? JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}` : part)) : String(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}
