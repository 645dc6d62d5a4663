// Draws lanes of spans. At any zoom no more rectangles than a lane has pixels.
import { FLAGS, LANE } from "./layout.js";
import { lowerBound } from "./data.js";

const FONT = "11px system-ui, sans-serif";
/** A span that is narrower has no text in it, in pixels. */
const LEAST_TEXT = 24;
const PADDING = 4;
/** What is shorter is drawn as wide as this, in pixels: a frame has no more rectangles in a lane than fit. */
const LEAST_WIDTH = 1.5;
/** How wide a flag is, and how near the next may be, in pixels. */
export const FLAG = 7;
const NEAR = 3;

export class Painter {
  /** @param {import("./model.js").Model} model @param {import("./theme.js").Colours} colours */
  constructor(model, colours) {
    this.model = model;
    this.colours = colours;
    /** By name: how wide its text is; 0 is not measured yet. */
    this.widths = new Float32Array(model.names.length);
    this.found = null;
  }

  /** Lists what is looked for, lane by lane. @param {Uint8Array | null} found by name */
  look(found) {
    this.found = found;
    if (!found) return;
    const { laneEvents, laneStarts, name } = this.model;
    const events = [];
    this.foundStarts = new Uint32Array(laneStarts.length);
    for (let lane = 0; lane + 1 < laneStarts.length; lane++) {
      for (let place = laneStarts[lane]; place < laneStarts[lane + 1]; place++) {
        if (found[name[laneEvents[place]]]) events.push(laneEvents[place]);
      }
      this.foundStarts[lane + 1] = events.length;
    }
    this.foundEvents = Uint32Array.from(events);
  }

  /** Begins a frame. `left` is where the time `start` is, and `scale` pixels a nanosecond has. */
  begin(context, { start, end, left, width }) {
    Object.assign(this, { context, start, end, left, right: left + width, scale: width / (end - start) });
    context.font = FONT;
    context.textBaseline = "middle";
    this.level = null;
    for (const level of this.model.levels) if (level.quantum * this.scale <= LEAST_WIDTH) this.level = level;
    this.rectangles = 0;
  }

  x(time) {
    return this.left + (time - this.start) * this.scale;
  }

  /** @param {number} lane @param {number} top */
  lane(lane, top) {
    const { level, model } = this;
    if (level) {
      this.blocks(level.lanes[lane], level.lanes[lane + 1], top, level.places, level.tops);
    } else {
      this.blocks(model.laneStarts[lane], model.laneStarts[lane + 1], top, null, null);
    }
    if (this.found) this.matches(lane, top);
  }

  blocks(from, to, top, places, tops) {
    const { model, context, colours, start: begin, end, scale, left, found } = this;
    const { laneEvents, start, duration, name, shades } = model;
    const firstOf = (block) => laneEvents[places ? places[block] : block];
    const lastOf = (block) => laneEvents[places ? places[block + 1] - 1 : block];
    const fills = found ? colours.dimmed : colours.fills;
    const first = lowerBound(from, to, (block) => model.end(lastOf(block)) < begin);
    let drawnTo = -Infinity;
    let fill = "";
    for (let block = first; block < to; block++) {
      const opening = firstOf(block);
      if (start[opening] > end) break;
      const closing = lastOf(block);
      const x0 = left + (start[opening] - begin) * scale;
      const x1 = left + (start[closing] + duration[closing] - begin) * scale;
      // What ends before the next pixel is not seen beside what is there already.
      if (x1 < drawnTo) continue;
      const event = tops ? laneEvents[places[block] + tops[block]] : opening;
      const shade = fills[shades[name[event]]];
      if (shade !== fill) context.fillStyle = fill = shade;
      const x = Math.max(x0, drawnTo, left - 2);
      const width = Math.max(Math.min(x1, this.right + 2) - x, LEAST_WIDTH);
      // A sliver of paper between neighbours, where there is room for it.
      context.fillRect(x, top, width > 3 ? width - 0.75 : width, LANE - 1);
      this.rectangles++;
      drawnTo = x + width;
      if (width >= LEAST_TEXT && opening === closing && !found) {
        this.text(event, x, width, top);
        fill = "";
      }
    }
  }

  /** Draws what is looked for over all else, by leaps of a pixel or more. */
  matches(lane, top) {
    const { model, context, colours, foundEvents: events, start: begin, end, scale, left } = this;
    const { name, shades } = model;
    const to = this.foundStarts[lane + 1];
    const after = (from, time) => lowerBound(from, to, (place) => model.end(events[place]) < time);
    let place = after(this.foundStarts[lane], begin);
    while (place < to && model.start[events[place]] <= end) {
      const event = events[place];
      const x = Math.max(left + (model.start[event] - begin) * scale, left - 2);
      const width = Math.max(Math.min(left + (model.end(event) - begin) * scale, this.right + 2) - x, 2);
      context.fillStyle = colours.fills[shades[name[event]]];
      context.fillRect(x, top, width > 3 ? width - 0.75 : width, LANE - 1);
      this.rectangles++;
      if (width >= LEAST_TEXT) this.text(event, x, width, top);
      place = after(place + 1, begin + (x + width - left) / scale);
    }
  }

  /** Draws the marks of a lane; what is looked for over the others. */
  flags(lane, top) {
    const { model, found } = this;
    this.flagsOf(model.laneEvents, model.laneStarts[lane], model.laneStarts[lane + 1], top, found !== null);
    if (found) this.flagsOf(this.foundEvents, this.foundStarts[lane], this.foundStarts[lane + 1], top, false);
  }

  /** Draws marks as flags, by leaps: those that stand on one another are one. */
  flagsOf(events, first, to, top, isDimmed) {
    const { context, colours, scale } = this;
    const { start, name, shades } = this.model;
    const after = (place, time) => lowerBound(place, to, (place) => start[events[place]] < time);
    const fills = isDimmed ? colours.dimmed : colours.fills;
    let place = after(first, this.start - FLAG / scale);
    while (place < to && start[events[place]] <= this.end) {
      const event = events[place];
      const x = Math.round(this.x(start[event]));
      const next = Math.max(after(place, this.start + (x + NEAR - this.left) / scale), place + 1);
      context.fillStyle = fills[shades[name[event]]];
      context.fillRect(x, top, FLAG, FLAGS / 2);
      context.fillStyle = isDimmed ? colours.line : colours.ink;
      context.fillRect(x, top, 1, FLAGS);
      this.rectangles += 2;
      const room = (next < to ? this.x(start[events[next]]) : this.right) - x - FLAG;
      if (room >= LEAST_TEXT && !isDimmed) this.flagText(event, x + FLAG, room, top);
      place = next;
    }
  }

  /** The name of a mark, beside its flag. */
  flagText(event, x, room, top) {
    this.context.fillStyle = this.colours.muted;
    this.fittedText(event, x, room, top + FLAGS / 2);
  }

  text(event, x, width, top) {
    this.context.fillStyle = this.colours.spanInk;
    this.fittedText(event, x, width, top + LANE / 2);
  }

  /** As much of an event's name as there is room for. */
  fittedText(event, x, width, middle) {
    const { context, model } = this;
    const name = model.name[event];
    let text = model.names[name];
    const room = Math.min(width, this.right - x) - 2 * PADDING;
    let wide = this.widths[name] || (this.widths[name] = context.measureText(text).width || 1);
    if (wide > room) {
      text = `${text.slice(0, Math.max(1, Math.floor((text.length * room) / wide) - 1))}…`;
      if (room < 16) return;
      wide = room;
    }
    context.fillText(text, x + PADDING, middle, room);
  }
}
