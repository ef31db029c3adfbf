/**
 * Sentence vectors and labels in JavaScript, in pages and in Node 18 or later, without another package.
 *
 * A model runs in the thread that calls it. In a page, import this module in a worker if texts are many.
 */

/**
 * What holds a model, a file `model.bin`: its address, in Node also its path, a file that a person chose, or its bytes.
 * A string that is relative means what `fetch` means by it; in Node it is a path.
 */
export type Source = string | URL | Blob | ArrayBuffer | ArrayBufferView;

/** A sentence encoder: texts → the vectors that sentence-transformers gives. */
export class Encoder {
  private constructor();

  /**
   * Loads a sentence encoder.
   * @param source - default: `model.bin` beside this module
   * @throws the file cannot be loaded, or holds no sentence encoder
   */
  static load(source?: Source): Promise<Encoder>;

  /** Numbers of a vector. */
  readonly dimensions: number;

  /**
   * Returns the vector of each text. It has the length 1, so the dot product of two vectors is their cosine.
   * @param texts - any number of texts; what is too long for the model is cut off, as in Python
   * @param options.dimensions - keeps the first numbers of each vector, and divides them by their length
   * @param options.int8 - multiplies each vector so that its largest number is ±127, and rounds: a quarter of the
   *     memory. The factors differ, so compare such vectors by their cosine.
   * @throws {RangeError} `dimensions` is below 1 or above those of a vector
   * @throws {TypeError} `texts` is no list of texts, such as one text alone
   */
  encode(texts: Iterable<string>, options?: { dimensions?: number; int8?: false }): Float32Array[];
  encode(texts: Iterable<string>, options: { dimensions?: number; int8: true }): Int8Array[];
}

/**
 * What a classifier predicts: the most likely label of a text; every label whose probability reaches the threshold; a number; or
 * a tag for each word.
 */
export type Task = "single_label" | "multi_label" | "regression" | "tags";

/** A word, a piece of punctuation, or what else the model reads as one token. */
export interface Unit {
  text: string;
  /** Where it begins, in UTF-16 units of its text, as in `String.prototype.slice`. */
  start: number;
  /** Where it ends. */
  end: number;
  /** 1 in the second text of a pair, else 0. */
  part: 0 | 1;
}

/** The answer for a text. */
export interface Prediction {
  /** The label; of `multi_label` all whose probability is at least `Classifier.threshold`; the number as text of `regression`; for `tags` one of each unit. */
  label: string | string[];
  /** In the order of `labels`; none for `regression`; for `tags` a list for each unit. */
  probabilities: number[] | number[][];
  /** What the probabilities are computed from; for `regression` the number. */
  logits: number[] | number[][];
  /** What the model read. */
  units: Unit[];
  /** Whether the text was too long for the model and was cut. */
  truncated: boolean;
  /** Milliseconds for this text, the mean of a batch. */
  ms: number;
}

/** A classifier of texts, of pairs of texts, or of words. */
export class Classifier {
  private constructor();

  /**
   * Loads a classifier.
   * @param source - default: `model.bin` beside this module
   * @throws the file cannot be loaded, or holds no classifier
   */
  static load(source?: Source): Promise<Classifier>;

  readonly task: Task;

  /** In the order of the probabilities. */
  readonly labels: readonly string[];

  /** The probability from which on one of several labels is given; no other task uses it. */
  readonly threshold: number;

  /** Whether the model reads pairs of texts. */
  readonly isPair: boolean;

  /**
   * Returns the answer for each text.
   * @param texts - texts, or for a model of pairs lists of two texts
   * @throws {TypeError} `texts` is no list of texts, or has something else in it: a pair where the model reads texts, or a
   *     text where it reads pairs
   */
  classify(texts: Iterable<string | readonly [string, string]>): Promise<Prediction[]>;
}
