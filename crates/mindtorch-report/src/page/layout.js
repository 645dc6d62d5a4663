// Where threads and streams are, from top to bottom.

export const LANE = 18;
const HEAD = 26;
const GAP = 8;
/** Lanes that are more than a screen shows beside others. */
const DEEP = 12;

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
    let top = 0;
    let process = -1;
    /** @type {{ process: number, top: number }[]} */
    this.heads = [];
    const hasHeads = this.model.processes.length > 1;
    this.rows = this.order.map((row) => {
      if (row.process !== process) {
        process = row.process;
        if (hasHeads) {
          this.heads.push({ process, top });
          top += HEAD;
        }
      }
      const lanes = this.folded.has(row) ? 1 : row.lanes;
      const placed = { row, top: top + GAP / 2, lanes, bottom: top + GAP / 2 + lanes * LANE };
      top = placed.bottom + GAP / 2;
      return placed;
    });
    this.height = top;
  }

  toggle(row) {
    if (!this.folded.delete(row)) this.folded.add(row);
    this.place();
  }

  /** The row and lane at a height. @returns {{ row: any, lane: number } | null} */
  at(height) {
    const placed = this.rows.find(({ top, bottom }) => top <= height && height < bottom);
    return placed ? { row: placed.row, lane: Math.floor((height - placed.top) / LANE) } : null;
  }

  /** Where an event's lane begins; that of its row, if the lane is not shown. */
  topOf(event) {
    const row = this.model.rowOf(event);
    const placed = this.rows.find((placed) => placed.row === row);
    return placed.top + Math.min(this.model.lane[event], placed.lanes - 1) * LANE;
  }
}
