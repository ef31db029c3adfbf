/** BM25 (Robertson & Zaragoza 2009, equation 3.15) over the units of passages. */

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

  /** Returns how rare a unit is: its inverse document frequency, 0 if no passage has it. */
  weightOf(unit) {
    const id = this.ids.get(unit);
    const count = id === undefined ? 0 : this.starts[id + 1] - this.starts[id];
    return count ? Math.log(1 + (this.numPassages - count + 0.5) / (count + 0.5)) : 0;
  }

  /**
   * Returns the score of each passage; 0 for one that shares no unit with the query.
   * @param {string[]} query - units
   * @returns {Float64Array}
   */
  scores(query) {
    const scores = new Float64Array(this.numPassages);
    for (const unit of query) {
      const id = this.ids.get(unit);
      if (id === undefined) continue;
      const [start, end] = [this.starts[id], this.starts[id + 1]];
      const weight = this.weightOf(unit);
      for (let entry = start; entry < end; entry++) {
        const [place, count] = [this.places[entry], this.counts[entry]];
        scores[place] += (weight * count * (SATURATION + 1)) / (count + this.discounts[place]);
      }
    }
    return scores;
  }
}
