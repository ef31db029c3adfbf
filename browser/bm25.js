/** BM25 (Robertson & Zaragoza 2009, equation 3.15) over the units of passages, and how much of a query a passage has. */

const SATURATION = 0.6; // k1: how much more of the same unit counts
const LENGTH_SHARE = 0.75; // b: how much longer passages are discounted

export class Bm25 {
  /** @param {string[][]} passages - the units of each passage */
  constructor(passages) {
    this.numPassages = passages.length;
    this.ids = new Map(); // unit → its number
    const [units, places, counts] = [[], [], []]; // an entry for each unit of each passage
    const lengths = new Float64Array(passages.length);
    passages.forEach((passage, place) => {
      lengths[place] = passage.length;
      const seen = new Map();
      for (const unit of passage) seen.set(unit, (seen.get(unit) ?? 0) + 1);
      for (const [unit, count] of seen) {
        if (!this.ids.has(unit)) this.ids.set(unit, this.ids.size);
        units.push(this.ids.get(unit));
        places.push(place);
        counts.push(count);
      }
    });
    const mean = Math.max(1, lengths.reduce((total, length) => total + length, 0) / Math.max(1, passages.length));
    this.discounts = lengths.map((length) => SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / mean));
    this.#sortByUnit(units, places, counts);
  }

  /** Keeps the entries of each unit side by side, from `starts[unit]` on. */
  #sortByUnit(units, places, counts) {
    this.starts = new Uint32Array(this.ids.size + 1);
    for (const unit of units) this.starts[unit + 1]++;
    for (let unit = 0; unit < this.ids.size; unit++) this.starts[unit + 1] += this.starts[unit];
    const next = this.starts.slice();
    this.places = new Uint32Array(units.length);
    this.counts = new Uint32Array(units.length);
    units.forEach((unit, entry) => {
      const target = next[unit]++;
      this.places[target] = places[entry];
      this.counts[target] = counts[entry];
    });
  }

  /** Returns the number of passages that have a unit. */
  countOf(unit) {
    const id = this.ids.get(unit);
    return id === undefined ? 0 : this.starts[id + 1] - this.starts[id];
  }

  /** Returns how rare a unit is that `count` passages have: its inverse document frequency. */
  weightOf(count) {
    return Math.log(1 + (this.numPassages - count + 0.5) / (count + 0.5));
  }

  /**
   * Returns the score of each passage, 0 for one that shares no unit with the query, and how much of the query it has:
   * the share of the weights of its terms, 0–1. The units of a term count as one.
   * @param {{units: string[], share: number}[]} terms - of a query; share: of the score of an exact unit
   * @returns {{scores: Float64Array, coverage: Float64Array}}
   */
  match(terms) {
    const [scores, coverage] = [new Float64Array(this.numPassages), new Float64Array(this.numPassages)];
    let total = 0;
    for (const { units, share } of terms) {
      const { places, counts } = this.#entriesOf(units);
      const weight = this.weightOf(places.length);
      total += weight;
      places.forEach((place, entry) => {
        const count = counts[entry];
        scores[place] += (share * weight * count * (SATURATION + 1)) / (count + this.discounts[place]);
        coverage[place] += share * weight;
      });
    }
    return { scores, coverage: total ? coverage.map((weight) => weight / total) : coverage };
  }

  /** Returns the places of the passages that have one of the units, and how often each has them. */
  #entriesOf(units) {
    const ids = units.map((unit) => this.ids.get(unit)).filter((id) => id !== undefined);
    const [starts, ends] = [ids.map((id) => this.starts[id]), ids.map((id) => this.starts[id + 1])];
    if (ids.length === 1) return { places: this.places.subarray(starts[0], ends[0]), counts: this.counts.subarray(starts[0], ends[0]) };
    const countOf = new Map();
    ids.forEach((_, index) => {
      for (let entry = starts[index]; entry < ends[index]; entry++) {
        countOf.set(this.places[entry], (countOf.get(this.places[entry]) ?? 0) + this.counts[entry]);
      }
    });
    return { places: Uint32Array.from(countOf.keys()), counts: Uint32Array.from(countOf.values()) };
  }
}
