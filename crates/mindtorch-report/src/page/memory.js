// Memory over time, by what it was for, and what it was made of at its peak.
import { byId, fitted, make, oncePerFrame } from "./dom.js";
import { lowerBound } from "./data.js";
import { drawGrid } from "./ruler.js";
import { bytesText, countText, percentText, timeText } from "./text.js";

const LEFT = 72;

export class Memory {
  /** @param {import("./state.js").State} state @param {import("./theme.js").Colours} colours */
  constructor(state, colours) {
    Object.assign(this, { state, model: state.model, colours });
    const { memory, processes } = this.model.contents;
    this.series = memory;
    this.at = null;
    this.canvas = byId("memory-canvas");
    this.choice = byId("memory-device");
    const name = ({ process, device }) => (processes.length > 1 ? `${processes[process].name}: ${device}` : device);
    this.choice.replaceChildren(...memory.map((one, number) => make("option", { value: number }, name(one))));
    // What was used most is what a person looks for.
    this.choice.value = String(memory.indexOf(memory.reduce((a, b) => (b.peak_bytes > a.peak_bytes ? b : a), memory[0])));
    this.choice.addEventListener("change", () => this.refresh());
    this.draw = oncePerFrame(() => this.paint());
    for (const type of ["view", "range"]) state.on(type, this.draw);
    colours.changed(this.draw);
    new ResizeObserver(this.draw).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    byId("memory-peak").addEventListener("click", () => this.goToPeak());
  }

  get shown() {
    return this.series[Number(this.choice.value)];
  }

  /** Shows the memory that a finding tells of. */
  show(finding) {
    const at = this.series.findIndex((one) => one.process === finding.process && one.device === finding.device);
    if (at >= 0) this.choice.value = String(at);
    this.refresh();
  }

  refresh() {
    this.say();
    this.showBlocks();
    this.draw();
  }

  goToPeak() {
    const { state } = this;
    const { peak_ns: at } = this.shown;
    const length = Math.min((state.end - state.start) / 4, this.model.duration_ns / 20);
    state.show(at - length, at + length);
  }

  /** The bytes of all categories at a time. */
  sizesAt(time) {
    const { times_ns: times, sizes } = this.shown;
    const at = lowerBound(0, times.length, (at) => times[at] <= time) - 1;
    return sizes.map((series) => (at < 0 ? 0 : series[at]));
  }

  /** Says what there was where the mouse is, or else at the peak. */
  say() {
    const time = this.at ?? this.shown.peak_ns;
    const sizes = this.sizesAt(time);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const legend = sizes.map((size, category) => ({ size, category })).filter(({ size }) => size > 0).reverse();
    byId("memory-legend").replaceChildren(
      make("b", {}, `${bytesText(total)} at ${timeText(Math.round(time))}${this.at === null ? " (peak)" : ""}`),
      ...legend.map(({ size, category }) => make("span", {},
        make("i", { class: "swatch", style: `background:var(--category-${category})` }),
        `${this.model.contents.categories[category]} ${bytesText(size)} (${percentText(size, total)})`)),
    );
  }

  point(x) {
    this.at = x === null || x < LEFT ? null : this.state.start + ((x - LEFT) / (this.canvas.clientWidth - LEFT)) * (this.state.end - this.state.start);
    this.say();
    this.draw();
  }

  showBlocks() {
    const { model, state } = this;
    const { blocks, others, other_bytes: rest, peak_bytes: peak } = this.shown;
    const head = ["Size", "Share", "For", "Allocated by", "From", "Until", "Where"];
    const line = (block) => {
      const { stacks, frames } = model.contents;
      const [innermost] = block.stack ? stacks[block.stack - 1] : [];
      const by = block.event === null ? "" : make("button", { class: "link mono", onclick: () => state.goTo(block.event) }, model.nameOf(block.event));
      return make("tr", {},
        make("td", {}, bytesText(block.bytes)),
        make("td", {}, percentText(block.bytes, peak)),
        make("td", { class: "text" }, make("i", { class: "swatch", style: `background:var(--category-${block.category})` }), model.contents.categories[block.category]),
        make("td", { class: "text" }, by),
        make("td", {}, block.allocated_ns === null ? "before" : timeText(block.allocated_ns)),
        make("td", {}, block.freed_ns === null ? "the end" : timeText(block.freed_ns)),
        make("td", { class: "text mono" }, innermost === undefined ? "" : frames[innermost]));
    };
    const isText = (title) => ["For", "Allocated by", "Where"].includes(title);
    byId("memory-blocks").replaceChildren(
      make("h3", {}, "What was there at the peak"),
      make("table", { class: "numbers" },
        make("thead", {}, make("tr", {}, ...head.map((title) => make("th", { scope: "col", class: isText(title) ? "text" : null }, title)))),
        make("tbody", {}, ...blocks.map(line))),
      others > 0 && make("p", { class: "muted" }, `and ${countText(others)} smaller blocks, ${bytesText(rest)} together`) || "",
    );
  }

  paint() {
    const fit = fitted(this.canvas);
    if (!fit) return;
    const { context, width, height } = fit;
    const { colours, state, shown } = this;
    const { times_ns: times, sizes, peak_bytes: peak, peak_ns: peakAt } = shown;
    const view = { start: state.start, end: state.end, left: LEFT, width: width - LEFT };
    const scale = view.width / (view.end - view.start);
    const x = (time) => LEFT + (time - view.start) * scale;
    const y = (bytes) => height - 4 - (height - 16) * (bytes / peak);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, height);
    drawGrid(context, view, height, colours);
    const from = Math.max(lowerBound(0, times.length, (at) => times[at] <= view.start) - 1, 0);
    const to = Math.min(lowerBound(from, times.length, (at) => times[at] <= view.end), times.length);
    const base = new Float64Array(to - from);
    const style = getComputedStyle(document.documentElement);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, view.width, height);
    context.clip();
    sizes.forEach((series, category) => {
      if (to <= from) return;
      context.fillStyle = style.getPropertyValue(`--category-${category}`);
      context.beginPath();
      for (let at = from; at < to; at++) {
        const top = y(base[at - from] + series[at]);
        context.lineTo(x(times[at]), top);
        context.lineTo(at + 1 < times.length ? x(times[at + 1]) : x(this.model.duration_ns), top);
      }
      for (let at = to - 1; at >= from; at--) {
        const bottom = y(base[at - from]);
        context.lineTo(at + 1 < times.length ? x(times[at + 1]) : x(this.model.duration_ns), bottom);
        context.lineTo(x(times[at]), bottom);
        base[at - from] += series[at];
      }
      context.fill();
    });
    for (const [time, colour] of [[peakAt, colours.mark], [this.at, colours.ink]]) {
      if (time === null) continue;
      context.fillStyle = colour;
      context.fillRect(x(time), 0, 1, height);
    }
    context.restore();
    context.fillStyle = colours.muted;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const share of [1, 0.5]) context.fillText(bytesText(peak * share), LEFT - 8, y(peak * share));
    context.textAlign = "left";
  }
}
