// What the parts of the page share: what is in view, selected, and searched for.
import { NONE } from "./model.js";

/** The shortest time that fills the timeline, in nanoseconds. */
const SHORTEST = 20;
/** How much is left free on each side of what is shown whole. */
const MARGIN = 0.02;

/**
 * Emits `view` (another stretch of time is shown), `range` (times were selected), `event` (a span was), `search` (other
 * names are looked for), each after the change.
 */
export class State extends EventTarget {
  /** @param {import("./model.js").Model} model */
  constructor(model) {
    super();
    this.model = model;
    this.length = Math.max(model.duration_ns, SHORTEST);
    this.start = 0;
    this.end = this.length;
    /** @type {{ start: number, end: number } | null} */
    this.range = null;
    this.event = NONE;
    /** @type {Uint8Array | null} by name: whether it is looked for */
    this.found = null;
    this.showAll();
  }

  /** @param {string} type @param {() => void} listener */
  on(type, listener) {
    this.addEventListener(type, listener);
  }

  emit(type) {
    this.dispatchEvent(new Event(type));
  }

  /** Shows the time from `start` to `end`, as far as there is any. */
  show(start, end) {
    const [least, most] = [-this.length * MARGIN, this.length * (1 + MARGIN)];
    const length = Math.min(Math.max(end - start, SHORTEST), most - least);
    const begin = Math.min(Math.max((start + end - length) / 2, least), most - length);
    if (begin === this.start && begin + length === this.end) return;
    this.start = begin;
    this.end = begin + length;
    this.emit("view");
  }

  showAll() {
    this.show(-this.length, 2 * this.length);
  }

  /** Shows what is from `start` to `end`, with some time around it. */
  showAround(start, end) {
    const margin = Math.max((end - start) * 0.15, 100);
    this.show(start - margin, end + margin);
  }

  /** @param {number} factor below 1: nearer @param {number} at the time that stays where it is */
  zoom(factor, at = (this.start + this.end) / 2) {
    this.show(at - (at - this.start) * factor, at + (this.end - at) * factor);
  }

  /** @param {number} share of what is shown */
  pan(share) {
    const by = (this.end - this.start) * share;
    this.show(this.start + by, this.end + by);
  }

  /** @param {number} start @param {number} end */
  selectRange(start, end) {
    const from = Math.max(0, Math.min(start, end));
    this.range = { start: Math.round(from), end: Math.round(Math.min(this.length, Math.max(start, end))) };
    this.emit("range");
  }

  clearRange() {
    if (!this.range) return;
    this.range = null;
    this.emit("range");
  }

  /** @param {number} event `NONE` is none */
  selectEvent(event) {
    if (event === this.event) return;
    this.event = event;
    this.emit("event");
  }

  /** Selects an event and brings it into view. */
  goTo(event) {
    const { model } = this;
    const [start, end] = [model.start[event], model.end(event)];
    const length = this.end - this.start;
    // Near enough to be seen, and not so near that nothing else is.
    const isSeen = model.isMark(event) || (end - start >= length / 200 && end - start <= length);
    if (!isSeen) this.show(start - (end - start) * 4 - 500, end + (end - start) * 4 + 500);
    else if (start < this.start || end > this.end) this.show((start + end - length) / 2, (start + end + length) / 2);
    this.selectEvent(event);
    this.emit("reveal");
  }

  /** @param {Uint8Array | null} found */
  search(found) {
    this.found = found;
    this.emit("search");
  }
}
