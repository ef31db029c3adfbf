/**
 * Forms of one word that readers take for the same: the option `fold_forms` of splitters. The same tables as in
 * tokenization/forms.py and tokenization/second_forms.py, which name their sources.
 */

const INVISIBLE = "\u00ad"; // the soft hyphen, which stands for all of them

/** One edition of the tables: characters that look alike, other changes of a text, and changes of a decomposed unit. */
class Forms {
  constructor(lookAlikes, inText, inUnit, joiners = "") {
    this.invisible = INVISIBLE + joiners; // continues a unit, and begins none
    this.inText = [...lookAlikes, ...inText];
    this.inUnit = inUnit;
  }

  /** Returns a text of the same length, with one form of characters that look alike. */
  foldText(text) {
    return this.inText.reduce((folded, [pattern, form]) => folded.replace(pattern, form), text);
  }

  /** Returns a decomposed unit without what readers do not need; a unit of such characters alone stays. */
  foldUnit(unit) {
    return this.inUnit.reduce((folded, [pattern, form]) => folded.replace(pattern, form), unit) || unit;
  }
}

const LOOK_ALIKES = [
  [/[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb]/g, INVISIBLE],
  [/[\u02bb-\u02bd\u055a\u05f3\u2018\u2019\u201b\ua78b\ua78c]/g, "'"],
  [/[\u05f4\u201c\u201d\u201f]/g, '"'],
  [/[\u2010\u2011]/g, "-"],
  [/_/g, " "],
];
// Of decomposed texts. The hamza and madda above and below, U+0653 to U+0655, make other letters, and stay.
const POINTS =
  String.raw`\u0640\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed` +
  String.raw`\u08d3-\u08e1\u08e3-\u08ff\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7`;
const YO = String.raw`(?<=[\u0415\u0435])\u0308`;
const SAME_LETTERS = [[/\u06a9/g, "\u0643"], [/\u06cc/g, "\u064a"]]; // keheh is kaf, and Farsi yeh is yeh

const JOINERS = "\u200c\u200d";
const SYMBOLS_OF_LETTERS =
  /[\u24b6-\u24e9\u2e9f\u2ef3\u2f00-\u2fd5\u3192-\u319f\u3244-\u3247\u3260-\u327b\u327e\u3280-\u32b0\u32d0-\u32fe]/g;
const MORE_LOOK_ALIKES = [
  [/[\u00b4\u02b9\u0374\u0384\u1fbd\u1fbf\u1ffd\u2032]/g, "'"],
  [/[\u02ba\u2033]/g, '"'],
  [/[\u05be\u2012\u2212]/g, "-"],
  [/\u301c/g, "~"],
  [/[\u3164\uff3f\uffa0]/g, " "],
  [/\u309b/g, "\u3099"],
  [/\u309c/g, "\u309a"],
  [SYMBOLS_OF_LETTERS, (symbol) => symbol.normalize("NFKC")],
];
const IN_TEXT = [
  [/(?<=[\p{L}\p{M}])[`\u1fef](?=\p{L})/gu, "'"],
  [/(?<=[Ll])[\u00b7\u0387\u2022\u2027\u2219\u22c5](?=[Ll])/g, INVISIBLE],
  [/\u0e40\u0e40/g, `\u0e41${INVISIBLE}`],
  [/\u0ec0\u0ec0/g, `\u0ec1${INVISIBLE}`],
];
// Dead consonants with U+200D → the letter of their own.
const WITH_JOINER = [
  [/\u09a4\u09cd\u200d/g, "\u09ce"],
  [/\u0d23\u0d4d\u200d/g, "\u0d7a"],
  [/\u0d28\u0d4d\u200d/g, "\u0d7b"],
  [/\u0d30\u0d4d\u200d/g, "\u0d7c"],
  [/\u0d32\u0d4d\u200d/g, "\u0d7d"],
  [/\u0d33\u0d4d\u200d/g, "\u0d7e"],
  [/\u0d15\u0d4d\u200d/g, "\u0d7f"],
];
const MORE_IGNORABLE =
  String.raw`${JOINERS}\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u0898-\u089f\u08ca-\u08d2`;
const LEFT_OUT = [
  [new RegExp(`[${INVISIBLE}${POINTS}${MORE_IGNORABLE}]`, "gu"), ""],
  [new RegExp(YO, "g"), ""],
  [/(?<=[Ll])\u00b7|(?<=[Ii])\u0307|(?<=[\u0915-\u0917\u091c\u092b])\u093c/g, ""],
  [/(?<=[АЕИОУЫЭЮЯІЄаеиоуыэюяіє]|[Іі]\u0308)\u0301/g, ""],
];
const SPELLINGS = [
  [/\u0671/g, "\u0627"],
  [/\u06d5(?=\u0654)/g, "\u0647"],
  [/\u05f0/g, "\u05d5\u05d5"],
  [/\u05f1/g, "\u05d5\u05d9"],
  [/\u05f2/g, "\u05d9\u05d9"],
  [/(?<=[SsTt])\u0326/g, "\u0327"],
  [new RegExp(
    String.raw`\u0901|\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])|` +
    String.raw`\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])`, "g"), "\u0902"],
  [/\u0905\u093e/g, "\u0906"],
  [/\u0905\u0949/g, "\u0911"],
  [/\u0905\u094b/g, "\u0913"],
  [/\u0905\u094c/g, "\u0914"],
  [/\u090f\u0947/g, "\u0910"],
  [/\u0985\u09be/g, "\u0986"],
  [/([\u0e4d\u0ecd])([\u0e48-\u0e4b\u0ec8-\u0ecb])([\u0e32\u0eb2])/g, "$2$1$3"],
  [/([\u0e4d\u0ecd])([\u0e32\u0eb2])([\u0e48-\u0e4b\u0ec8-\u0ecb])/g, "$3$1$2"],
  [/([\u0e48-\u0e4b\u0ec8-\u0ecb])([\u0e31\u0e34-\u0e37\u0eb1\u0eb4-\u0eb7])/g, "$2$1"],
  [/([Oo])([AEae])([\u0300\u0301\u0303\u0309\u0323])$/g, "$1$3$2"],
  [/(?<![Qq])([Uu])([Yy])([\u0300\u0301\u0303\u0309\u0323])$/g, "$1$3$2"],
];

const EDITIONS = [
  null, // of a tokenizer without the option
  new Forms(LOOK_ALIKES, [], [[new RegExp(`[${INVISIBLE}${POINTS}]|${YO}`, "g"), ""], ...SAME_LETTERS]),
  new Forms(
    [...LOOK_ALIKES, ...MORE_LOOK_ALIKES], IN_TEXT,
    [[/ (?=[\u064b-\u0652])/g, ""], ...WITH_JOINER, ...LEFT_OUT, ...SAME_LETTERS, ...SPELLINGS], JOINERS,
  ),
];

/**
 * Returns the tables of the option `fold_forms`, or null if a tokenizer has none.
 * @param {boolean | number} [edition] - true is the first edition
 * @returns {Forms | null}
 */
export function formsOf(edition) {
  return EDITIONS[Number(edition ?? 0)];
}
