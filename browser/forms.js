/**
 * Forms of one word that readers take for the same: the option `fold_forms` of splitters. The same tables as in
 * tokenization/forms.py, which names their sources.
 */

export const INVISIBLE = "\u00ad"; // the soft hyphen, which stands for all of them
const LOOK_ALIKES = [
  [INVISIBLE, /[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb]/g],
  ["'", /[\u02bb-\u02bd\u055a\u05f3\u2018\u2019\u201b\ua78b\ua78c]/g],
  ['"', /[\u05f4\u201c\u201d\u201f]/g],
  ["-", /[\u2010\u2011]/g],
  [" ", /_/g],
];
// Of decomposed texts. The hamza and madda above and below, U+0653 to U+0655, make other letters, and stay.
const LEFT_OUT = new RegExp(
  String.raw`[${INVISIBLE}\u0640\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8` +
  String.raw`\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]|` +
  String.raw`(?<=[\u0415\u0435])\u0308`, "g");

/** Returns a text of the same length, with one form of characters that look alike. */
export function foldText(text) {
  return LOOK_ALIKES.reduce((folded, [form, characters]) => folded.replace(characters, form), text);
}

/** Returns a decomposed unit without what readers do not need; a unit of such characters alone stays. */
export function foldUnit(unit) {
  return unit.replace(LEFT_OUT, "").replace(/\u06a9/g, "\u0643").replace(/\u06cc/g, "\u064a") || unit;
}
