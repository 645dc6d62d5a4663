// How long each step took, as bars. Those that took much longer than the others are marked.
import { byId, fitted, make, oncePerFrame } from "./dom.js";
import { countText, timeText } from "./text.js";

const FOOT = 20;
const LEFT = 64;
const LEAST_BAR = 3;

export class Steps {
  /** @param {import("./state.js").State} state @param {import("./theme.js").Colours} colours */
  constructor(state, colours) {
    Object.assign(this, { state, model: state.model, colours, chosen: 0, process: 0 });
    this.canvas = byId("steps-canvas");
    this.draw = oncePerFrame(() => this.paint());
    const { processes } = this.model;
    const choice = byId("steps-process");
    choice.replaceChildren(...processes.map((process, number) => make("option", { value: number }, process.name)));
    choice.hidden = processes.length < 2;
    choice.addEventListener("change", () => {
      this.process = Number(choice.value);
      this.chosen = 0;
      this.refresh();
    });
    colours.changed(this.draw);
    new ResizeObserver(this.draw).observe(this.canvas);
    this.canvas.addEventListener("click", (event) => this.choose(this.at(event.offsetX), true));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  get steps() {
    return this.model.steps.filter((step) => step.process === this.process);
  }

  refresh() {
    const { steps } = this;
    const times = steps.map((step) => step.end_ns - step.start_ns).sort((a, b) => a - b);
    const middle = times[Math.floor((times.length - 1) / 2)];
    const out = steps.filter((step) => step.stands_out).length;
    byId("steps-text").textContent =
      `${countText(steps.length)} steps: shortest ${timeText(times[0])}, median ${timeText(middle)}, longest ${timeText(times.at(-1))}` +
      (out > 0 ? `; ${countText(out)} stand out (above the upper quartile by more than 1.5 times the distance of the quartiles).` : "; none stands out.");
    this.median = middle;
    this.longest = times.at(-1);
    this.draw();
  }

  get barWidth() {
    return Math.min((this.canvas.clientWidth - LEFT - 8) / Math.max(this.steps.length, 1), 48);
  }

  at(x) {
    return Math.floor((x - LEFT) / this.barWidth);
  }

  choose(at, goes) {
    const { steps, state } = this;
    if (!(at >= 0 && at < steps.length)) return;
    this.chosen = at;
    const step = steps[at];
    this.canvas.setAttribute("aria-label", `Steps. Step ${step.number}: ${timeText(step.end_ns - step.start_ns)}. Enter shows it.`);
    if (goes) {
      state.selectRange(step.start_ns, step.end_ns);
      state.showAround(step.start_ns, step.end_ns);
    }
    this.draw();
  }

  key(event) {
    const next = { ArrowLeft: this.chosen - 1, ArrowRight: this.chosen + 1, Home: 0, End: this.steps.length - 1 }[event.key];
    if (next === undefined && event.key !== "Enter") return;
    event.preventDefault();
    this.choose(next ?? this.chosen, event.key === "Enter");
  }

  paint() {
    const fit = fitted(this.canvas);
    if (!fit) return;
    const { context, width, height } = fit;
    const { colours, steps, barWidth } = this;
    const room = height - FOOT - 8;
    const y = (ns) => 8 + room * (1 - ns / this.longest);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    steps.forEach((step, at) => {
      const ns = step.end_ns - step.start_ns;
      context.fillStyle = step.stands_out ? colours.mark : colours.fills[3];
      const wide = Math.max(barWidth - (barWidth > LEAST_BAR ? 2 : 0), 1);
      context.fillRect(LEFT + at * barWidth, y(ns), wide, 8 + room - y(ns));
      if (at === this.chosen) {
        context.strokeStyle = colours.ink;
        context.strokeRect(LEFT + at * barWidth - 0.5, y(ns) - 0.5, wide + 1, 8 + room - y(ns) + 1);
      }
      const every = Math.ceil(44 / barWidth);
      if (at % every === 0) {
        context.fillStyle = colours.muted;
        context.fillText(String(step.number), LEFT + at * barWidth, height - FOOT / 2);
      }
    });
    for (const ns of [this.longest, this.median]) {
      context.fillStyle = colours.muted;
      context.textAlign = "right";
      context.fillText(timeText(ns), LEFT - 8, Math.max(y(ns), 8));
      context.textAlign = "left";
      context.globalAlpha = 0.4;
      context.fillRect(LEFT, y(ns), width - LEFT - 8, 1);
      context.globalAlpha = 1;
    }
  }
}
