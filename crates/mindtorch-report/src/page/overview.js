// The whole time in one strip: how busy the threads and devices were, and which part of it is in view.
import { byId, fitted, oncePerFrame } from "./dom.js";
import { NONE } from "./model.js";
import { kindShade } from "./theme.js";

const BARS = 600;
const OPERATOR = 0;
const KERNEL = 5;
/** Operators, backward nodes, runtime calls, and what devices do. */
const WORK = new Set([0, 1, 3, 5, 6, 7, 8]);

export class Overview {
  /** @param {import("./state.js").State} state @param {import("./theme.js").Colours} colours */
  constructor(state, colours) {
    Object.assign(this, { state, colours });
    this.canvas = byId("overview");
    this.host = busy(state, (row) => !row.is_device);
    this.device = busy(state, (row) => row.is_device);
    this.draw = oncePerFrame(() => this.paint());
    for (const type of ["view", "range"]) state.on(type, this.draw);
    colours.changed(this.draw);
    new ResizeObserver(this.draw).observe(this.canvas);
    const move = (event) => {
      const { width } = this.canvas.getBoundingClientRect();
      const length = state.end - state.start;
      const at = (event.offsetX / width) * state.length;
      state.show(at - length / 2, at + length / 2);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons === 1 && move(event));
  }

  paint() {
    const fit = fitted(this.canvas);
    if (!fit) return;
    const { context, width, height } = fit;
    const { state, colours } = this;
    context.fillStyle = colours.raised;
    context.fillRect(0, 0, width, height);
    const bar = width / BARS;
    const strips = [[this.host, colours.fills[kindShade(OPERATOR)]], [this.device, colours.fills[kindShade(KERNEL)]]].filter(([strip]) => strip);
    const high = (height - 4) / strips.length;
    strips.forEach(([strip, fill], number) => {
      context.fillStyle = fill;
      for (let at = 0; at < BARS; at++) {
        const size = strip[at] * (high - 2);
        context.fillRect(at * bar, 2 + (number + 1) * high - size, bar + 0.5, size);
      }
    });
    const x = (time) => (time / state.length) * width;
    if (state.range) {
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.3;
      context.fillRect(x(state.range.start), 0, Math.max(x(state.range.end) - x(state.range.start), 1), height);
      context.globalAlpha = 1;
    }
    const [x0, x1] = [Math.max(x(state.start), 0), Math.min(x(state.end), width)];
    context.fillStyle = colours.paper;
    context.globalAlpha = 0.65;
    context.fillRect(0, 0, x0, height);
    context.fillRect(x1, 0, width - x1, height);
    context.globalAlpha = 1;
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(x0 + 0.75, 0.75, Math.max(x1 - x0 - 1.5, 2), height - 1.5);
  }
}

/** For each of `BARS` stretches the share of the time in which the busiest row worked. */
function busy({ model, length }, isWanted) {
  const rows = model.rows.filter(isWanted);
  if (rows.length === 0) return null;
  const isWork = model.names.map((_, name) => WORK.has(model.kinds[name]));
  // A program without operators has scopes; that of a step is always open, and tells nothing.
  if (!isWork.includes(true)) model.names.forEach((text, name) => (isWork[name] = !text.startsWith("ProfilerStep#")));
  const isInside = new Uint8Array(model.count);
  const bars = new Float64Array(BARS);
  const stretch = length / BARS;
  for (const row of rows) {
    const own = new Float64Array(BARS);
    for (let event = row.first; event < row.first + row.count; event++) {
      const parent = model.parent[event];
      if (parent !== NONE) isInside[event] = isInside[parent] || isWork[model.name[parent]];
      if (isInside[event] || !isWork[model.name[event]]) continue;
      const end = model.end(event);
      for (let bar = Math.floor(model.start[event] / stretch); bar < BARS && bar * stretch < end; bar++) {
        own[bar] += Math.min(end, (bar + 1) * stretch) - Math.max(model.start[event], bar * stretch);
      }
    }
    for (let bar = 0; bar < BARS; bar++) bars[bar] = Math.max(bars[bar], Math.min(own[bar] / stretch, 1));
  }
  return bars;
}
