/**
 * Forms of one word that readers take for the same: the option `fold_forms` of splitters. The tables come with the model;
 * they are those of tokenization/forms.py and tokenization/second_forms.py.
 */

const COMPILED = new WeakMap(); // tables → what they are compiled to

class Forms {
  /** @param {{invisible: string, sets: string[][], in_text: string[][], in_unit: string[][]}} tables - pairs: [pattern, form] */
  constructor({ invisible, sets, in_text: inText, in_unit: inUnit }) {
    this.invisible = invisible; // continues a unit, and begins none
    const lookAlikes = sets.map(([set, form]) => [set, form || ((symbol) => symbol.normalize("NFKC"))]);
    this.inText = compile([...lookAlikes, ...inText]);
    this.inUnit = compile(inUnit);
  }

  /** Returns a text of the same length, with one form of characters that look alike. */
  foldText(text) {
    return apply(this.inText, text);
  }

  /** Returns a decomposed unit without what readers do not need; a unit of such characters alone stays. */
  foldUnit(unit) {
    return apply(this.inUnit, unit) || unit;
  }
}

function compile(rules) {
  return rules.map(([pattern, form]) => [new RegExp(pattern, "gu"), form]);
}

function apply(rules, text) {
  return rules.reduce((folded, [pattern, form]) => folded.replace(pattern, form), text);
}

/**
 * Returns what the option `fold_forms` of a splitter does, or null if a tokenizer has none.
 * @param {{fold_forms?: boolean | number, forms?: object}} options - of the splitter
 * @returns {Forms | null}
 * @throws {Error} the model has no tables
 */
export function formsOf({ fold_forms: edition, forms }) {
  if (!edition) return null;
  if (!forms) {
    throw new Error(
      "this model has no tables for fold_forms, because an earlier version of vocabless wrote it; write it again with " +
      "`vocabless javascript`.");
  }
  if (!COMPILED.has(forms)) COMPILED.set(forms, new Forms(forms));
  return COMPILED.get(forms);
}
