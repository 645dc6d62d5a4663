// The events of the page, by number, and how they belong together.
import { readCounters } from "./counters.js";
import { fromZigzag, lowerBound, readColumn } from "./data.js";
import { shadeOf } from "./theme.js";

export const NONE = -1;
const RUNTIME_CALL = 3;
const NAMES_OF_COLUMNS = [
  "start", "duration", "name", "lane", "parent", "own", "flags", "inputs", "stack", "flops",
  "host_memory", "device_memory", "bytes", "launcher", "forward", "backward",
];

export class Model {
  /** @param {any} contents */
  static async read(contents) {
    const columns = await Promise.all(NAMES_OF_COLUMNS.map(readColumn));
    const levels = await Promise.all(
      contents.levels.map((_, at) => Promise.all([readColumn(`level-${at}-counts`), readColumn(`level-${at}-tops`)])),
    );
    const counters = await readCounters(contents);
    return new Model(contents, Object.fromEntries(NAMES_OF_COLUMNS.map((name, at) => [name, columns[at]])), levels, counters);
  }

  constructor(contents, columns, levels, counters) {
    const { rows } = contents;
    for (const row of rows) if (row.marks_of !== null) rows[row.marks_of].marks = row;
    Object.assign(this, {
      contents,
      counters,
      count: contents.events,
      duration_ns: contents.duration_ns,
      /** Threads and streams. */
      rows: rows.filter((row) => row.marks_of === null),
      /** The same and threads' marks, in the order of events. */
      tracks: rows,
      processes: contents.processes,
      steps: contents.steps,
      duration: columns.duration,
      name: columns.name,
      lane: columns.lane,
      flags: columns.flags,
      inputs: columns.inputs,
      stack: columns.stack,
      flops: columns.flops,
      bytes: columns.bytes,
      hostMemory: columns.host_memory,
      deviceMemory: columns.device_memory,
    });
    this.names = contents.names.map(([text]) => text);
    this.kinds = Uint8Array.from(contents.names, ([, kind]) => kind);
    this.shades = Uint8Array.from(contents.names, ([text, kind]) => shadeOf(text, kind));
    this.start = startsOf(columns.start, this.tracks);
    this.parent = parentsOf(columns.parent);
    this.own = ownTimes(columns.own, this.duration, this.parent);
    this.isNested = nestedIn(this.name, this.parent);
    this.placeLanes();
    this.levels = contents.levels.map((level, at) => new Level(level, ...levels[at]));
    this.placeLaunches(columns.launcher);
    this.forward = summedUp(columns.forward);
    this.backward = summedUp(columns.backward);
  }

  /** Lists the events of each lane, which are in the order of time and do not overlap. */
  placeLanes() {
    let lanes = 0;
    for (const row of this.tracks) {
      row.firstLane = lanes;
      lanes += row.lanes;
    }
    this.laneStarts = new Uint32Array(lanes + 1);
    const next = new Uint32Array(lanes + 1);
    const each = (see) => {
      for (const { first, count, firstLane } of this.tracks) {
        for (let event = first; event < first + count; event++) see(firstLane + this.lane[event], event);
      }
    };
    each((lane) => next[lane + 1]++);
    for (let lane = 0; lane < lanes; lane++) next[lane + 1] += next[lane];
    this.laneStarts.set(next);
    this.laneEvents = new Uint32Array(this.count);
    each((lane, event) => {
      this.laneEvents[next[lane]++] = event;
    });
  }

  /** @param {ArrayLike<number>} launchers of the devices' work, one higher, each told from the one before */
  placeLaunches(launchers) {
    this.launchers = summedUp(launchers);
    let before = 0;
    for (const row of this.rows) {
      row.firstWork = before;
      if (row.is_device) before += row.count;
    }
    this.hasDevice = before > 0;
    /** What devices did for each span itself: what a call of the runtime launches is the work of the operator around it. */
    this.launched = new Float64Array(this.hasDevice ? this.count : 0);
    for (const row of this.rows.filter((row) => row.is_device)) {
      for (let at = 0; at < row.count; at++) {
        const launcher = this.launchers[row.firstWork + at] - 1;
        if (launcher < 0) continue;
        const isCall = this.kindOf(launcher) === RUNTIME_CALL && this.parent[launcher] !== NONE;
        this.launched[isCall ? this.parent[launcher] : launcher] += this.duration[row.first + at];
      }
    }
  }

  end(event) {
    return this.start[event] + this.duration[event];
  }

  nameOf(event) {
    return this.names[this.name[event]];
  }

  kindOf(event) {
    return this.kinds[this.name[event]];
  }

  rowOf(event) {
    const { tracks } = this;
    return tracks[lowerBound(0, tracks.length, (at) => tracks[at].first + tracks[at].count <= event)];
  }

  /** Whether it is a mark, which has a time and no length. */
  isMark(event) {
    return this.rowOf(event).marks_of !== null;
  }

  /** The span that launched a device's work, or `NONE`. */
  launcherOf(event) {
    const row = this.rowOf(event);
    return row.is_device ? this.launchers[row.firstWork + event - row.first] - 1 : NONE;
  }

  isWithin(event, outer) {
    while (event > outer) event = this.parent[event];
    return event === outer;
  }

  /** The devices' work that a span or what it contains launched, at most `most`. */
  launchesOf(span, most) {
    const found = [];
    const end = this.end(span);
    for (const row of this.rows) {
      if (!row.is_device) continue;
      for (let at = 0; at < row.count && found.length < most; at++) {
        const launcher = this.launchers[row.firstWork + at] - 1;
        if (launcher < span || this.start[launcher] > end || !this.isWithin(launcher, span)) continue;
        found.push(row.first + at);
      }
    }
    return found;
  }

  /** Pairs of forward operators and backward nodes that a span is in. */
  linksOf(span) {
    const found = [];
    for (let at = 0; at < this.forward.length; at++) {
      if (this.forward[at] === span || this.backward[at] === span) found.push([this.forward[at], this.backward[at]]);
    }
    return found;
  }

  children(span) {
    const row = this.rowOf(span);
    const found = [];
    const end = this.end(span);
    for (let event = span + 1; event < row.first + row.count && this.start[event] <= end; event++) {
      if (this.parent[event] === span) found.push(event);
    }
    return found;
  }

  /** The event of a lane at a time, or the nearest one that is not further than `reach`. */
  at(lane, time, reach) {
    const [from, to] = [this.laneStarts[lane], this.laneStarts[lane + 1]];
    const place = lowerBound(from, to, (place) => this.end(this.laneEvents[place]) < time);
    let best = NONE;
    let distance = Infinity;
    for (const candidate of [place, place - 1]) {
      if (candidate < from || candidate >= to) continue;
      const event = this.laneEvents[candidate];
      const away = Math.max(this.start[event] - time, time - this.end(event), 0);
      if (away <= reach && away < distance) [best, distance] = [event, away];
    }
    return best;
  }

  /** The last event of a lane that begins between two times, or `NONE`. */
  lastBetween(lane, from, to) {
    const [first, end] = [this.laneStarts[lane], this.laneStarts[lane + 1]];
    const place = lowerBound(first, end, (place) => this.start[this.laneEvents[place]] <= to) - 1;
    return place >= first && this.start[this.laneEvents[place]] >= from ? this.laneEvents[place] : NONE;
  }

  /** Memory that a span itself allocated less freed, in bytes: the host's, the devices'. */
  memoryOf(event) {
    return [fromZigzag(this.hostMemory[event]), fromZigzag(this.deviceMemory[event])];
  }

  stackOf(event) {
    const stack = this.stack[event];
    return stack === 0 ? [] : this.contents.stacks[stack - 1].map((frame) => this.contents.frames[frame]);
  }

  inputsOf(event) {
    const inputs = this.inputs[event];
    return inputs === 0 ? [] : this.contents.inputs[inputs - 1];
  }

  stepOf(event) {
    const { process } = this.rowOf(event);
    const start = this.start[event];
    return this.steps.find((step) => step.process === process && step.start_ns <= start && start < step.end_ns) ?? null;
  }
}

/** What to draw when a pixel is longer than `quantum`. */
class Level {
  constructor({ quantum_ns: quantum, lanes }, counts, tops) {
    Object.assign(this, { quantum, lanes, tops });
    /** Where each block begins in the list of lanes' events, and where the last ends. */
    this.places = new Uint32Array(counts.length + 1);
    for (let block = 0; block < counts.length; block++) this.places[block + 1] = this.places[block] + counts[block];
  }
}

function startsOf(deltas, rows) {
  const starts = new Float64Array(deltas.length);
  for (const { first, count, start_ns: begin } of rows) {
    let start = begin;
    for (let event = first; event < first + count; event++) {
      start += deltas[event];
      starts[event] = start;
    }
  }
  return starts;
}

function parentsOf(distances) {
  const parents = new Int32Array(distances.length);
  for (let event = 0; event < distances.length; event++) {
    parents[event] = distances[event] === 0 ? NONE : event - distances[event];
  }
  return parents;
}

/** For each event whether it is within another of its name. */
function nestedIn(names, parents) {
  const nested = new Uint8Array(names.length);
  for (let event = 0; event < names.length; event++) {
    let around = parents[event];
    while (around !== NONE && names[around] !== names[event]) around = parents[around];
    if (around !== NONE) nested[event] = 1;
  }
  return nested;
}

function ownTimes(corrections, durations, parents) {
  const own = new Float64Array(durations);
  for (let event = 0; event < own.length; event++) {
    if (parents[event] !== NONE) own[parents[event]] -= durations[event];
    if (corrections[event] !== 0) own[event] += fromZigzag(corrections[event]);
  }
  return own;
}

function summedUp(deltas) {
  const numbers = new Int32Array(deltas.length);
  let number = 0;
  for (let at = 0; at < deltas.length; at++) {
    number += fromZigzag(deltas[at]);
    numbers[at] = number;
  }
  return numbers;
}
