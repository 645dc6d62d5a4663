// Where counters, threads and streams are, from top to bottom.

export const LANE = 18;
/** How high the marks of a thread are, above its spans. */
export const FLAGS = 14;
/** How high a counter is. */
export const LINE = 28;
const HEAD = 26;
const GAP = 8;
/** Lanes that are more than a screen shows beside others. */
const DEEP = 12;
/** More counters than these leave no room for threads below them. */
const FEW = 6;

/** Rows of the timeline, in pixels from the top of all. */
export class Layout {
  /** @param {import("./model.js").Model} model */
  constructor(model) {
    this.model = model;
    // Of each process the thread that began first, which is mostly the one that a person knows. Devices come last, but where
    // threads are so deep that nobody would see them there.
    const turn = model.rows.some((row) => !row.is_device && row.lanes > DEEP) ? -1 : 1;
    this.order = model.rows.slice().sort((one, other) =>
      one.process - other.process || turn * (one.is_device - other.is_device) || (one.is_device ? 0 : one.start_ns - other.start_ns));
    /** @type {Set<object>} rows of which only the first lane is shown */
    this.folded = new Set();
    this.place();
  }

  place() {
    this.height = 0;
    /** @type {{ process: number, top: number }[]} */
    this.heads = [];
    /** @type {{ counter: import("./counters.js").Counter, top: number }[]} */
    this.lines = [];
    /** @type {{ row: any, head: number, top: number, lanes: number, bottom: number }[]} `head` is where marks begin, `top` where spans do */
    this.rows = [];
    const { processes, counters } = this.model;
    processes.forEach((_, process) => {
      const own = counters.filter((counter) => counter.process === process);
      if (processes.length > 1) {
        this.heads.push({ process, top: this.height });
        this.height += HEAD;
      }
      if (own.length <= FEW) this.placeLines(own);
      for (const row of this.order) if (row.process === process) this.placeRow(row);
      if (own.length > FEW) this.placeLines(own);
    });
  }

  placeLines(counters) {
    for (const counter of counters) {
      this.lines.push({ counter, top: this.height + GAP / 2 });
      this.height += LINE + GAP;
    }
  }

  placeRow(row) {
    const lanes = this.folded.has(row) ? Math.min(row.lanes, 1) : row.lanes;
    const head = this.height + GAP / 2;
    const top = head + (row.marks ? FLAGS : 0);
    const bottom = top + lanes * LANE;
    this.rows.push({ row, head, top, lanes, bottom });
    this.height = bottom + GAP / 2;
  }

  toggle(row) {
    if (!this.folded.delete(row)) this.folded.add(row);
    this.place();
  }

  /** The lane at a height, by its number among all. @returns {{ lane: number, isOfMarks: boolean } | null} */
  laneAt(height) {
    const placed = this.rows.find(({ head, bottom }) => head <= height && height < bottom);
    if (!placed) return null;
    const { row, top } = placed;
    const isOfMarks = height < top;
    return { lane: isOfMarks ? row.marks.firstLane : row.firstLane + Math.floor((height - top) / LANE), isOfMarks };
  }

  /** The counter at a height, or `null`. */
  counterAt(height) {
    return this.lines.find(({ top }) => top <= height && height < top + LINE)?.counter ?? null;
  }

  /** How high an event is. */
  heightOf(event) {
    return this.model.isMark(event) ? FLAGS : LANE;
  }

  /** Where an event's lane begins; that of its row, if the lane is not shown. */
  topOf(event) {
    const row = this.model.rowOf(event);
    if (row.marks_of !== null) return this.rows.find((placed) => placed.row.marks === row).head;
    const placed = this.rows.find((placed) => placed.row === row);
    return placed.top + Math.min(this.model.lane[event], placed.lanes - 1) * LANE;
  }
}
