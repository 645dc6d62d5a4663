/** Sizes by category over time, and which of the categories are shown. */
class Series {
  #hidden = new Set();

  constructor({ categories, times_ns: times, sizes, duration_ns: duration, peak }) {
    Object.assign(this, { categories, times, sizes, duration: Math.max(duration, times.at(-1), 1) });
    this.totals = new Float64Array(times.length);
    this.#addUp();
    // Of the states that share the peak's time the peak is the largest.
    this.peakIndex = this.indexAt(peak.at_ns);
    for (let index = this.peakIndex; index >= 0 && times[index] === times[this.peakIndex]; index--) {
      if (this.totals[index] > this.totals[this.peakIndex]) this.peakIndex = index;
    }
  }

  /** The categories that are shown, in the order in which they are stacked. */
  get shown() {
    return [...this.categories.keys()].filter((category) => this.shows(category));
  }

  shows(category) {
    return !this.#hidden.has(category);
  }

  toggle(category) {
    if (!this.#hidden.delete(category)) this.#hidden.add(category);
    this.#addUp();
  }

  #addUp() {
    this.totals.fill(0);
    for (const category of this.shown) {
      const sizes = this.sizes[category];
      for (let index = 0; index < sizes.length; index++) this.totals[index] += sizes[index];
    }
  }

  /** The state that holds at a time; -1 before the first. */
  indexAt(time) {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  sizeAt(category, index) {
    return index < 0 ? 0 : this.sizes[category][index];
  }

  /** The bytes of the categories that are shown. */
  totalAt(index) {
    return index < 0 ? 0 : this.totals[index];
  }

  /** For each column of pixels the state to draw: of those that held within it the largest. So no maximum is lost, and
   *  what is drawn above each other was there together. */
  columns(view, count) {
    const { times, totals } = this;
    const columns = new Int32Array(count);
    let index = this.indexAt(view.start);
    for (let column = 0; column < count; column++) {
      // What held before does not reach into a column at whose very edge another state begins.
      if (index + 1 < times.length && view.position(times[index + 1], count) === column) index++;
      let largest = index;
      for (; index + 1 < times.length && view.column(times[index + 1], count) <= column; index++) {
        if (times[index + 1] > view.end) break;
        if (largest < 0 || totals[index + 1] > totals[largest]) largest = index + 1;
      }
      columns[column] = largest;
    }
    return columns;
  }
}

/** The part of the recording that the chart shows. */
class View {
  static SHORTEST_NS = 10;

  constructor(duration) {
    Object.assign(this, { duration, start: 0, end: duration });
  }

  get span() {
    return this.end - this.start;
  }

  #allowed(span) {
    return clamp(span, Math.min(View.SHORTEST_NS, this.duration), this.duration);
  }

  show(start, end) {
    const span = this.#allowed(end - start);
    this.start = clamp((start + end - span) / 2, 0, this.duration - span);
    this.end = this.start + span;
  }

  zoom(factor, around) {
    const span = this.#allowed(this.span * factor);
    const start = around - ((around - this.start) * span) / this.span;
    this.show(start, start + span);
  }

  pan(share) {
    this.show(this.start + share * this.span, this.end + share * this.span);
  }

  reset() {
    this.show(0, this.duration);
  }

  has(time) {
    return time >= this.start && time <= this.end;
  }

  /** Where a time lies when the view is `count` columns wide. */
  position(time, count) {
    return ((time - this.start) * count) / this.span;
  }

  /** The column of a time; its end belongs to the last one. */
  column(time, count) {
    return clamp(Math.floor(this.position(time, count)), 0, count - 1);
  }
}

