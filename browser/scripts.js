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
// The digits 0 of all scripts in Unicode 17; the digits 1–9 of a script follow its 0. The table is never changed.
export const ZEROS = [
  0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
  0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
  0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0,
  0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950,
  0x11BF0, 0x11C50, 0x11D50, 0x11DA0, 0x11DE0, 0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0,
  0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950, 0x1FBF0,
];

/**
 * Returns the pattern of the units of the splitter `scripts`.
 * @param {number} window - letters of Thai and its relatives in a unit
 * @param {string} invisible - characters that continue a unit, and begin none
 * @returns {RegExp}
 */
export function scriptRuns(window, invisible) {
  const marks = `[${CONTINUES}${HALF_WIDTH_MARKS}${invisible}]*`;
  const others = `${WORD}${SPACE}`;
  const word = `(?!${letters(IDEOGRAPHS + KANA.join("") + SOUTH_EAST_ASIAN)})[${WORD}]`;
  const thai = letters(SOUTH_EAST_ASIAN);
  const units = [
    `${letters(IDEOGRAPHS)}${marks}`,
    ...KANA.map((kana) => `(?:${letters(kana)}${marks})+`),
    `${thai}${marks}(?:(?!\\p{Logical_Order_Exception})${thai}${marks}){0,${window - 1}}`,
    `(?:${word}${marks})+`,
    `[^${others}${invisible}](?:[^${others}]|[${CONTINUES}${HALF_WIDTH_MARKS}])*`,
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
