// What the mouse and the keyboard do in the timeline.
import { NONE } from "./model.js";
import { RULER } from "./ruler.js";
import { Tip } from "./tip.js";

/** So far the mouse may move in a click, in pixels. */
const STILL = 3;
const ZOOM = 1.3;
const PAN = 0.15;

export class Gestures {
  /** @param {import("./timeline.js").Timeline} timeline */
  constructor(timeline) {
    Object.assign(this, { timeline, state: timeline.state, drag: null });
    this.tip = new Tip(timeline);
    const { canvas } = timeline;
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.finish(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("pointerleave", () => {
      this.hover(NONE);
      this.tip.hide();
    });
    canvas.addEventListener("dblclick", () => this.zoomToEvent());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  begin(event) {
    if (event.button !== 0) return;
    const { timeline, state } = this;
    this.tip.hide();
    timeline.canvas.setPointerCapture(event.pointerId);
    const isRange = event.shiftKey || event.offsetY < RULER;
    this.drag = {
      x: event.offsetX,
      y: event.offsetY,
      isRange,
      isStill: true,
      time: timeline.timeAt(event.offsetX),
      start: state.start,
      end: state.end,
      scrollTop: timeline.scroller.scrollTop,
    };
  }

  move(event) {
    const { timeline, state, drag } = this;
    if (!drag) {
      this.hover(timeline.eventAt(event.offsetX, event.offsetY));
      this.tip.show(event);
      return;
    }
    const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
    if (Math.hypot(dx, dy) > STILL) drag.isStill = false;
    if (drag.isStill) return;
    if (drag.isRange) {
      state.selectRange(drag.time, timeline.timeAt(event.offsetX));
    } else {
      const by = (dx / timeline.width) * (drag.end - drag.start);
      state.show(drag.start - by, drag.end - by);
      timeline.scroller.scrollTop = drag.scrollTop - dy;
    }
  }

  finish(event) {
    const { timeline, state, drag } = this;
    this.drag = null;
    if (!drag?.isStill) return;
    if (drag.isRange) state.clearRange();
    else state.selectEvent(timeline.eventAt(event.offsetX, event.offsetY));
  }

  hover(event) {
    if (this.timeline.hovered === event) return;
    this.timeline.hovered = event;
    this.timeline.canvas.style.cursor = event === NONE ? "" : "pointer";
    this.timeline.draw();
  }

  wheel(event) {
    const { timeline, state } = this;
    // Over the labels it scrolls, as it does everywhere.
    if (event.offsetX < timeline.left || event.altKey) return;
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) {
      timeline.scroller.scrollTop += (event.deltaY || event.deltaX) * pixels;
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      state.pan((event.deltaX * pixels) / timeline.width);
    } else {
      // A pinch comes as a wheel with the control key, in small steps.
      const speed = event.ctrlKey ? 0.01 : 0.002;
      state.zoom(Math.exp(event.deltaY * pixels * speed), timeline.timeAt(event.offsetX));
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = this.action(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** @param {string} key @returns {(() => void) | null} */
  action(key) {
    const { state, timeline } = this;
    const scroll = (by) => () => (timeline.scroller.scrollTop += by);
    switch (key) {
      case "w": case "+": case "=": return () => state.zoom(1 / ZOOM, this.middle());
      case "s": case "-": return () => state.zoom(ZOOM, this.middle());
      case "a": case "ArrowLeft": return () => state.pan(-PAN);
      case "d": case "ArrowRight": return () => state.pan(PAN);
      case "ArrowUp": return scroll(-54);
      case "ArrowDown": return scroll(54);
      case "PageUp": return scroll(-timeline.scroller.clientHeight * 0.8);
      case "PageDown": return scroll(timeline.scroller.clientHeight * 0.8);
      case "0": case "Home": return () => state.showAll();
      case "f": return () => this.zoomToEvent();
      case "m": return () => this.mark();
      case "Enter": return () => this.selectNear();
      case ".": return () => this.step(1);
      case ",": return () => this.step(-1);
      case "[": return () => this.outward();
      case "]": return () => this.inward();
      case "Escape": return () => (state.event === NONE ? state.clearRange() : state.selectEvent(NONE));
      default: return null;
    }
  }

  /** What zooming goes about: the selected span, if it is in view. */
  middle() {
    const { state, timeline } = this;
    const { model } = timeline;
    if (state.event !== NONE) {
      const middle = model.start[state.event] + model.duration[state.event] / 2;
      if (state.start <= middle && middle <= state.end) return middle;
    }
    return (state.start + state.end) / 2;
  }

  zoomToEvent() {
    const { state } = this;
    const { model } = this.timeline;
    if (state.event !== NONE) state.showAround(model.start[state.event], model.end(state.event));
    else if (state.range) state.showAround(state.range.start, state.range.end);
  }

  mark() {
    const { state } = this;
    const { model } = this.timeline;
    if (state.event !== NONE) state.selectRange(model.start[state.event], model.end(state.event));
  }

  /** Selects the span that is nearest to the middle, in the first lane that is shown. */
  selectNear() {
    const { state, timeline } = this;
    const { model } = timeline;
    const middle = (state.start + state.end) / 2;
    const placed = timeline.layout.rows.find(({ bottom }) => bottom > timeline.scroller.scrollTop);
    if (placed) state.selectEvent(model.at((placed.lanes > 0 ? placed.row : placed.row.marks).firstLane, middle, Infinity));
  }

  /** Goes to the next span of the lane, or the one before. */
  step(by) {
    const { state } = this;
    const { model } = this.timeline;
    if (state.event === NONE) return this.selectNear();
    const lane = model.rowOf(state.event).firstLane + model.lane[state.event];
    const [from, to] = [model.laneStarts[lane], model.laneStarts[lane + 1]];
    const next = model.laneEvents.subarray(from, to).indexOf(state.event) + by;
    if (next >= 0 && next < to - from) state.goTo(model.laneEvents[from + next]);
  }

  outward() {
    const { state } = this;
    const parent = state.event === NONE ? NONE : this.timeline.model.parent[state.event];
    if (parent !== NONE) state.goTo(parent);
  }

  inward() {
    const { state } = this;
    const [child] = state.event === NONE ? [] : this.timeline.model.children(state.event);
    if (child !== undefined) state.goTo(child);
  }
}
