// The timeline: all counters, threads and streams over time.
import { byId, fitted, make, oncePerFrame } from "./dom.js";
import { Gestures } from "./gestures.js";
import { LANE, Layout, LINE } from "./layout.js";
import { drawLine } from "./lines.js";
import { drawLinks } from "./links.js";
import { NONE } from "./model.js";
import { FLAG, Painter } from "./painter.js";
import { drawGrid, drawRuler, drawSteps, RULER, STEPS } from "./ruler.js";
import { countText, timeText } from "./text.js";

export class Timeline {
  /** @param {import("./state.js").State} state @param {import("./theme.js").Colours} colours */
  constructor(state, colours) {
    Object.assign(this, { state, model: state.model, colours });
    this.canvas = byId("canvas");
    this.scroller = byId("rows");
    this.layout = new Layout(this.model);
    this.painter = new Painter(this.model, colours);
    /** How much is above the rows. */
    this.head = RULER + (this.model.steps.length > 0 ? STEPS : 0);
    this.hovered = NONE;
    this.frames = 0;
    this.draw = oncePerFrame(() => this.paint());
    this.placeLabels();
    state.on("search", () => this.painter.look(state.found));
    for (const type of ["view", "range", "event", "search"]) state.on(type, this.draw);
    state.on("reveal", () => this.reveal(state.event));
    colours.changed(this.draw);
    this.scroller.addEventListener("scroll", this.draw);
    new ResizeObserver(() => {
      this.placeSpacer();
      this.draw();
    }).observe(this.scroller);
    this.gestures = new Gestures(this);
  }

  /** How wide the labels are, in pixels. */
  get left() {
    return byId("labels").clientWidth;
  }

  get width() {
    return Math.max(this.scroller.clientWidth - this.left, 1);
  }

  timeAt(x) {
    const { start, end } = this.state;
    return start + ((x - this.left) / this.width) * (end - start);
  }

  /** The event at a place of the canvas, or `NONE`. */
  eventAt(x, y) {
    const found = y < this.head ? null : this.layout.laneAt(y - this.head + this.scroller.scrollTop);
    if (!found || x < this.left) return NONE;
    // A flag is right of its time, and over those before it.
    if (found.isOfMarks) return this.model.lastBetween(found.lane, this.timeAt(x - FLAG), this.timeAt(x + 1));
    const pixel = (this.state.end - this.state.start) / this.width;
    return this.model.at(found.lane, this.timeAt(x), 2 * pixel);
  }

  /** The counter at a place of the canvas, or `null`. */
  counterAt(x, y) {
    return y < this.head || x < this.left ? null : this.layout.counterAt(y - this.head + this.scroller.scrollTop);
  }

  placeLabels() {
    const labels = byId("labels");
    const heads = this.layout.heads.map(({ process, top }) =>
      make("div", { class: "process", style: `top:${this.head + top}px` }, this.model.processes[process].name),
    );
    const lines = this.layout.lines.map(({ counter, top }) => {
      const attributes = { class: "line", style: `top:${this.head + top}px;height:${LINE}px`, title: `${counter.name}: at most ${counter.text(counter.most)}` };
      return make("div", attributes, make("span", {}, counter.name), make("small", {}, counter.text(counter.most)));
    });
    const rows = this.layout.rows.map(({ row, head, lanes, bottom }) => {
      const isFolded = this.layout.folded.has(row);
      const count = row.count + (row.marks?.count ?? 0);
      const toggle = () => {
        this.layout.toggle(row);
        const at = this.layout.rows.findIndex((placed) => placed.row === row);
        this.placeLabels();
        labels.querySelectorAll("button")[at].focus();
        this.draw();
      };
      const attributes = {
        class: ["row", row.is_device && "device", lanes > 1 && "tall"].filter(Boolean).join(" "),
        style: `top:${this.head + head}px;height:${bottom - head}px;--lines:${lanes}`,
        "aria-expanded": row.lanes > 1 ? String(!isFolded) : null,
        title: `${row.label}: ${countText(count)} events`,
        onclick: toggle,
      };
      return make("button", attributes, make("span", {}, row.label), make("small", {}, countText(count)));
    });
    labels.replaceChildren(...heads, ...lines, ...rows);
    byId("corner").style.height = `${this.head}px`;
    this.placeSpacer();
  }

  placeSpacer() {
    const rest = this.layout.height + this.head - this.scroller.clientHeight;
    byId("spacer").style.height = `${Math.max(rest, 0)}px`;
    byId("labels").style.height = `${Math.max(this.layout.height + this.head, this.scroller.clientHeight)}px`;
  }

  /** Scrolls to an event's lane, and unfolds its row. */
  reveal(event) {
    if (event === NONE) return;
    const row = this.model.rowOf(event);
    if (this.layout.folded.has(row) && this.model.lane[event] > 0) {
      this.layout.toggle(row);
      this.placeLabels();
    }
    const top = this.layout.topOf(event);
    const room = this.scroller.clientHeight - this.head;
    const { scrollTop } = this.scroller;
    if (top < scrollTop || top + this.layout.heightOf(event) > scrollTop + room) this.scroller.scrollTop = Math.max(0, top - room / 3);
  }

  paint() {
    const fit = fitted(this.canvas);
    if (!fit) return;
    const { context, width, height } = fit;
    const { state, colours, layout } = this;
    const view = { start: state.start, end: state.end, left: this.left, width: this.width };
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, height);
    drawGrid(context, view, height, colours);
    this.painter.begin(context, view);
    const shift = this.head - this.scroller.scrollTop;
    for (const { counter, top } of layout.lines) {
      if (top + LINE + shift < this.head || top + shift > height) continue;
      drawLine(context, counter, this.painter, top + shift, colours);
      context.fillStyle = colours.grid;
      context.fillRect(0, top + LINE + shift + 3, width, 1);
    }
    for (const { row, head, top, bottom, lanes } of layout.rows) {
      if (bottom + shift < this.head || head + shift > height) continue;
      if (row.marks) this.painter.flags(row.marks.firstLane, head + shift);
      for (let lane = 0; lane < lanes; lane++) {
        const y = top + shift + lane * LANE;
        if (y + LANE > this.head && y < height) this.painter.lane(row.firstLane + lane, y);
      }
      context.fillStyle = colours.grid;
      context.fillRect(0, bottom + shift + 3, width, 1);
    }
    this.paintHeads(context, shift, width);
    this.paintEvents(context, shift);
    this.paintRange(context, view, height);
    context.fillStyle = colours.raised;
    context.fillRect(0, 0, width, this.head);
    drawRuler(context, view, colours);
    if (this.head > RULER) drawSteps(context, view, this.model.steps.filter((step) => step.process === 0), colours);
    this.paintRangeText(context, view);
    this.frames++;
  }

  paintHeads(context, shift, width) {
    for (const { top } of this.layout.heads) {
      context.fillStyle = this.colours.faint;
      context.fillRect(0, top + shift, width, 22);
    }
  }

  /** Outlines what is selected and pointed at, and draws where it leads. */
  paintEvents(context, shift) {
    const { state, colours, painter } = this;
    const outlined = [[this.hovered, 1], [state.event, 2]];
    for (const [event, thickness] of outlined) {
      if (event === NONE) continue;
      const x0 = Math.max(painter.x(this.model.start[event]), painter.left - 4);
      const x1 = Math.min(painter.x(this.model.end(event)), painter.right + 4);
      if (x1 < painter.left - 3 || x0 > painter.right + 3) continue;
      context.strokeStyle = colours.ink;
      context.lineWidth = thickness;
      const width = this.model.isMark(event) ? FLAG : Math.max(x1 - x0, 2);
      context.strokeRect(x0 - 0.5, this.layout.topOf(event) + shift - 0.5, width, this.layout.heightOf(event));
    }
    if (state.event !== NONE) drawLinks(context, this, shift);
  }

  paintRange(context, view, height) {
    const { range } = this.state;
    if (!range) return;
    const [x0, x1] = [range.start, range.end].map((time) => Math.min(Math.max(this.painter.x(time), view.left), view.left + view.width));
    context.fillStyle = this.colours.accent;
    context.globalAlpha = 0.1;
    context.fillRect(x0, 0, x1 - x0, height);
    context.globalAlpha = 0.8;
    context.fillRect(x0, 0, 1, height);
    context.fillRect(x1, 0, 1, height);
    context.globalAlpha = 1;
  }

  paintRangeText(context, view) {
    const { range } = this.state;
    if (!range) return;
    const [x0, x1] = [range.start, range.end].map((time) => Math.min(Math.max(this.painter.x(time), view.left), view.left + view.width));
    context.fillStyle = this.colours.accent;
    context.fillRect(x0, RULER - 3, Math.max(x1 - x0, 1), 3);
    if (x1 - x0 < 60) return;
    const text = timeText(range.end - range.start);
    const width = context.measureText(text).width + 12;
    const x = (x0 + x1 - width) / 2;
    context.beginPath();
    context.roundRect(x, 3, width, RULER - 7, 4);
    context.fill();
    context.fillStyle = this.colours.paper;
    context.fillText(text, x + 6, RULER / 2);
  }
}
