// Counters: what each was over time, and the least and the most that it was in any stretch.
import { lowerBound, readColumn } from "./data.js";
import { bytesText, numberText } from "./text.js";

/** So many values are one of the next level. */
const FACTOR = 16;

/** One counter of a process. It has a value until it has the next. */
export class Counter {
  /**
   * @param {number} process @param {string} name
   * @param {ArrayLike<number>} times that rise @param {Float64Array} values
   * @param {(value: number) => string} text
   */
  constructor(process, name, times, values, text) {
    Object.assign(this, { process, name, times, values, text });
    /** Of each level the least and the most of so many values of the level before. */
    this.levels = [{ least: values, most: values }];
    while (this.levels.at(-1).least.length > FACTOR) this.levels.push(nextLevel(this.levels.at(-1)));
    [this.least, this.most] = this.bounds(0, values.length);
  }

  get count() {
    return this.values.length;
  }

  /** The number of the value that it has at a time; -1 is none yet. */
  placeAt(time) {
    return this.placeAfter(time) - 1;
  }

  /** The number of the first value after a time, from number `from` on, which it is mostly near. */
  placeAfter(time, from = 0) {
    const { times, count } = this;
    let reach = 1;
    while (from + reach < count && times[from + reach] <= time) {
      from += reach;
      reach *= 2;
    }
    return lowerBound(from, Math.min(from + reach, count), (place) => times[place] <= time);
  }

  /** The least and the most of its values from number `from` to before `to`. */
  bounds(from, to) {
    const bounds = [Infinity, -Infinity];
    for (const level of this.levels) {
      // What does not fill a value of the next level is looked at here.
      const whole = Math.ceil(from / FACTOR);
      const end = Math.floor(to / FACTOR);
      if (whole >= end) {
        widen(bounds, level, from, to);
        break;
      }
      widen(bounds, level, from, whole * FACTOR);
      widen(bounds, level, end * FACTOR, to);
      from = whole;
      to = end;
    }
    return bounds;
  }
}

/** Makes bounds include those of a level's values from number `from` to before `to`. */
function widen(bounds, { least, most }, from, to) {
  for (let at = from; at < to; at++) {
    if (least[at] < bounds[0]) bounds[0] = least[at];
    if (most[at] > bounds[1]) bounds[1] = most[at];
  }
}

function nextLevel({ least, most }) {
  const length = Math.ceil(least.length / FACTOR);
  const next = { least: new Float64Array(length).fill(Infinity), most: new Float64Array(length).fill(-Infinity) };
  for (let at = 0; at < least.length; at++) {
    const above = Math.floor(at / FACTOR);
    next.least[above] = Math.min(next.least[above], least[at]);
    next.most[above] = Math.max(next.most[above], most[at]);
  }
  return next;
}

/** Those that the program counted, and the memory in use. @returns {Promise<Counter[]>} */
export async function readCounters({ counters, memory }) {
  const [deltas, low, high] = await Promise.all(["counter_time", "counter_low", "counter_high"].map(readColumn));
  const all = valuesOf(low, high);
  const counted = counters.map(({ process, name, first, count, start_ns: begin }) => {
    const times = new Float64Array(count);
    for (let at = 0, time = begin; at < count; at++) times[at] = time += deltas[first + at];
    return new Counter(process, name, times, all.subarray(first, first + count), numberText);
  });
  const used = memory.map(({ process, device, times_ns: times, sizes }) => {
    const totals = Float64Array.from(times, (_, at) => sizes.reduce((sum, series) => sum + series[at], 0));
    return new Counter(process, `memory: ${device}`, times, totals, bytesText);
  });
  return [...used, ...counted];
}

/** Numbers by the halves of their bits. */
function valuesOf(low, high) {
  const bits = new DataView(new ArrayBuffer(8 * low.length));
  return Float64Array.from(low, (_, at) => {
    bits.setUint32(8 * at, high[at]);
    bits.setUint32(8 * at + 4, low[at]);
    return bits.getFloat64(8 * at);
  });
}
