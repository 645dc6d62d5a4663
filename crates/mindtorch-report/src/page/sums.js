// What the events of a stretch of time add up to, by name.
import { NONE } from "./model.js";

/** The flag of an operator that is one call with the operator around it. */
const REPEATED = 8;
const STEP = /^ProfilerStep#\d+$/;

/** Names that are counted as one: those of all steps. */
export class Groups {
  /** @param {import("./model.js").Model} model */
  constructor(model) {
    /** @type {Map<string, number>} */
    const numbers = new Map();
    /** @type {{ text: string, kind: number, name: number }[]} */
    this.list = [];
    /** By name: the number of its group. */
    this.of = Uint32Array.from(model.names, (text, name) => {
      const key = STEP.test(text) ? "ProfilerStep*" : text;
      const kind = model.kinds[name];
      const id = `${kind} ${key}`;
      if (!numbers.has(id)) {
        numbers.set(id, this.list.length);
        this.list.push({ text: key, kind, name });
      }
      return numbers.get(id);
    });
    this.shades = model.shades;
  }

  /** What a group is called, and its colour. @param {number} group */
  nameOf(group) {
    const { text, name } = this.list[group];
    return { text, shade: this.shades[name] };
  }
}

/** @typedef {{ group: number, count: number, total: number, own: number, longest: number, launched: number, memory: number }} Sum */

/**
 * Calls `see(event, total, own)` for every event that is at least partly in the range, with the times that are in it.
 *
 * What a span took itself in the range is what it took there less what those directly within it took there. Only spans that
 * the range cuts need that; of others it is known.
 * @param {import("./model.js").Model} model
 * @param {{ start: number, end: number } | null} range all, if there is none
 * @param {any[]} rows
 */
export function walk(model, range, rows, see) {
  const { start, duration, own, parent } = model;
  const from = range ? range.start : -Infinity;
  const to = range ? range.end : Infinity;
  for (const { first, count } of rows) {
    /** @type {Map<number, number[]>} spans that are cut: what is in the range, and what those within took of it */
    const cut = new Map();
    for (let event = first; event < first + count; event++) {
      const begin = start[event];
      // The rest of the row begins later still.
      if (begin > to || (begin === to && duration[event] > 0)) break;
      const end = begin + duration[event];
      if (end < from || (end === from && duration[event] > 0)) continue;
      const isCut = begin < from || end > to;
      const total = isCut ? Math.min(end, to) - Math.max(begin, from) : duration[event];
      const around = parent[event];
      if (around !== NONE && cut.has(around)) cut.get(around)[1] += total;
      if (isCut) cut.set(event, [total, 0]);
      else see(event, total, own[event]);
    }
    for (const [event, [total, within]] of cut) see(event, total, Math.max(total - within, 0));
  }
}

/** @returns {Sum[]} */
export function sums(model, groups, range, rows) {
  /** @type {Sum[]} */
  const all = groups.list.map((_, group) => ({ group, count: 0, total: 0, own: 0, longest: 0, launched: 0, memory: 0 }));
  const { hasDevice } = model;
  walk(model, range, rows, (event, total, own) => {
    const sum = all[groups.of[model.name[event]]];
    sum.own += own;
    // An operator that is one call with the operator around it is counted there.
    if (!(model.flags[event] & REPEATED)) sum.count++;
    // The time of a span within one of its name is in that one's.
    if (!model.isNested[event]) sum.total += total;
    if (total > sum.longest) sum.longest = total;
    if (hasDevice) sum.launched += model.launched[event];
    if (model.hostMemory[event] || model.deviceMemory[event]) {
      const [host, device] = model.memoryOf(event);
      sum.memory += host + device;
    }
  });
  return all.filter((sum) => sum.count > 0);
}
