/**
 * Patterns of the scripts that are written without spaces between words. The same as tokenization/scripts.py.
 *
 * JavaScript's own `\s` is another set of characters than Python's, so the spaces are listed.
 */

export const SPACE = String.raw`\p{White_Space}\x1c-\x1f\u200b\ufeff`;
export const WORD = String.raw`\p{L}\p{N}\p{M}_`;
export const CONTINUES = String.raw`\p{M}\u200c\u200d`;
const HALF_WIDTH_MARKS = String.raw`\uff9e\uff9f`; // letters for Unicode, but forms of U+3099 and U+309A
const IDEOGRAPHS = scripts("Han", "Yi", "Tangut", "Nushu", "Khitan_Small_Script") + String.raw`\u3006`;
const KANA = [
  scripts("Hiragana") + String.raw`\u30fc\u3031-\u3035`, scripts("Katakana") + String.raw`\u30fc\uff70`, scripts("Bopomofo"),
];
const SOUTH_EAST_ASIAN = scripts(
  "Thai", "Lao", "Khmer", "Myanmar", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Ahom");

/**
 * Returns the pattern of the units of the splitter `scripts`.
 * @param {number} window - letters of Thai and its relatives in a unit
 * @returns {RegExp}
 */
export function scriptRuns(window) {
  const marks = `[${CONTINUES}${HALF_WIDTH_MARKS}]*`;
  const others = `${WORD}${SPACE}`;
  const word = `(?!${letters(IDEOGRAPHS + KANA.join("") + SOUTH_EAST_ASIAN)})[${WORD}]`;
  const thai = letters(SOUTH_EAST_ASIAN);
  const units = [
    `${letters(IDEOGRAPHS)}${marks}`,
    ...KANA.map((kana) => `(?:${letters(kana)}${marks})+`),
    `${thai}${marks}(?:(?!\\p{Logical_Order_Exception})${thai}${marks}){0,${window - 1}}`,
    `(?:${word}${marks})+`,
    `[^${others}](?:[^${others}]|[${CONTINUES}${HALF_WIDTH_MARKS}])*`,
  ];
  return new RegExp(units.join("|"), "gu");
}

function scripts(...names) {
  return names.map((name) => `\\p{Script=${name}}`).join("");
}

/** Returns what matches a letter of a script, no mark, digit or punctuation. */
function letters(script) {
  return String.raw`(?=[\p{L}\p{Nl}])[${script}]`;
}
