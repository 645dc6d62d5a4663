/** The chart: a drawing with a cursor, a legend, and the hands of a person on it. */
class Chart {
  #chart = byId("chart");
  #cursor = null; // the time that the cursor is at
  #drag = null;
  #frame = 0;

  constructor(data) {
    this.data = data;
    this.series = new Series(data);
    this.view = new View(this.series.duration);
    this.drawing = new Drawing(byId("canvas"), this.series, this.view, data);
    this.#fillLegend();
    this.#summarize();
    this.#listen();
    this.draw();
  }

  draw(scale = window.devicePixelRatio) {
    this.#frame = 0;
    this.drawing.draw(this.#chart.clientWidth, this.#chart.clientHeight, scale);
    const { start, end, span } = this.view;
    const [from, to] = [start, end].map((time) => timeText(time, span / 1000, timeUnit(end)));
    byId("range").textContent = `${from} to ${to}`;
    this.#showCursor();
  }

  /** Draws before the screen is next painted, however often it is called until then. */
  #drawSoon() {
    this.#frame ||= requestAnimationFrame(() => this.draw());
  }

  /** The state that is drawn at the cursor, when it held, and how many share its column; null without a cursor. */
  hovered() {
    const { series, view } = this;
    const { columns } = this.drawing;
    if (this.#cursor === null || !view.has(this.#cursor)) return null;
    const column = view.column(this.#cursor, columns.length);
    const from = view.start + (column / columns.length) * view.span;
    const states = 1 + series.indexAt(from + view.span / columns.length) - Math.max(series.indexAt(from), 0);
    const index = columns[column];
    return { index, states, time: states > 1 ? Math.max(series.times[index] ?? 0, from) : this.#cursor };
  }

  #showCursor() {
    const { series } = this;
    const { plot } = this.drawing;
    const at = this.hovered();
    for (const cell of document.querySelectorAll("#legend [data-category]")) {
      const category = Number(cell.dataset.category);
      cell.textContent = at && series.shows(category) ? bytesText(series.sizeAt(category, at.index)) : "–";
    }
    byId("cursor-total").textContent = at ? bytesText(series.totalAt(at.index)) : "–";
    const [cursor, tooltip] = [byId("cursor"), byId("tooltip")];
    cursor.hidden = tooltip.hidden = !at || this.#drag !== null;
    if (cursor.hidden) return;
    const x = this.drawing.x(this.#cursor);
    Object.assign(cursor.style, { left: `${x}px`, top: `${plot.top}px`, height: `${plot.height}px` });
    this.#fillTooltip(tooltip, at);
    const fits = x + 16 + tooltip.offsetWidth < this.#chart.clientWidth;
    const left = fits ? x + 16 : x - 16 - tooltip.offsetWidth;
    Object.assign(tooltip.style, { left: `${left}px`, top: `${plot.top + 8}px` });
  }

  #fillTooltip(tooltip, { index, states, time }) {
    const { series, view } = this;
    const total = series.totalAt(index);
    const step = this.data.steps.findLast(({ start_ns: start }) => start <= time);
    const here = timeText(time, view.span / this.drawing.columns.length);
    const everything = series.shown.length === series.categories.length;
    const parts = series.shown.reverse().filter((category) => series.sizeAt(category, index) > 0);
    tooltip.replaceChildren(
      make("p", {}, step ? `${here}, step ${step.number}` : here),
      make("p", {}, make("strong", {}, bytesText(total)), everything ? " in all" : " shown"),
      make("p", { class: "muted" }, exactBytes(total)),
      ...parts.map((category) => make("div", {}, swatch(category), make("span", {}, series.categories[category]),
        make("span", {}, bytesText(series.sizeAt(category, index))))),
      ...(states > 1 ? [make("p", { class: "muted" }, `largest of ${grouped(states)} states at this pixel`)] : []),
    );
  }

  #fillLegend() {
    const { series } = this;
    for (const category of series.shown.reverse()) {
      const attributes = { type: "button", "aria-pressed": "true" };
      const name = make("button", attributes, swatch(category), series.categories[category]);
      name.addEventListener("click", () => {
        series.toggle(category);
        name.setAttribute("aria-pressed", String(series.shows(category)));
        this.#drawSoon();
      });
      const bytes = series.sizeAt(category, series.peakIndex);
      const used = series.sizes[category].some((size) => size > 0);
      byId("legend").tBodies[0].append(make("tr", used ? {} : { class: "unused" }, make("td", {}, name),
        make("td", { "data-category": category }, "–"), make("td", { title: exactBytes(bytes) }, bytesText(bytes))));
    }
    byId("peak-total").textContent = bytesText(this.data.peak.bytes);
    byId("peak-total").title = exactBytes(this.data.peak.bytes);
  }

  /** What the picture shows, for those who cannot see it. */
  #summarize() {
    const { series } = this;
    const { device, steps, peak } = this.data;
    const parts = series.categories
      .map((name, category) => ({ name, bytes: series.sizeAt(category, series.peakIndex) }))
      .filter(({ bytes }) => bytes > 0)
      .sort((one, other) => other.bytes - one.bytes)
      .map(({ name, bytes }) => `${name} ${bytesText(bytes)}`);
    byId("summary").textContent = [
      `Memory on ${device} over ${timeText(series.duration)}, ${counted(steps.length, "step")}.`,
      `It begins with ${bytesText(series.totals[0])} and ends with ${bytesText(series.totals.at(-1))}.`,
      `Its peak is ${bytesText(peak.bytes)} at ${timeText(peak.at_ns)}: ${parts.join(", ")}.`,
    ].join(" ");
  }

  #goToPeak() {
    const { view } = this;
    this.#cursor = this.data.peak.at_ns;
    view.show(this.#cursor - view.span / 2, this.#cursor + view.span / 2);
  }

  /** Moves the cursor to the next column that shows another state; past the edge the view goes with it. */
  #moveCursor(direction) {
    const { view, series } = this;
    const { columns } = this.drawing;
    const within = this.#cursor !== null && view.has(this.#cursor);
    let column = within ? view.column(this.#cursor, columns.length) : direction > 0 ? -1 : columns.length;
    const index = columns[column];
    do column += direction;
    while (within && columns[column] === index);
    const next = series.times[series.indexAt(view.end) + 1];
    const previous = series.times[series.indexAt(view.start)] - (1.5 * view.span) / columns.length;
    const beyond = direction > 0 ? next : previous;
    if (columns[column] === undefined && beyond >= 0) {
      this.#cursor = beyond;
      view.show(beyond - view.span / 2, beyond + view.span / 2);
      return;
    }
    this.#cursor = view.start + ((clamp(column, 0, columns.length - 1) + 0.5) / columns.length) * view.span;
  }

  #actions() {
    const { view } = this;
    const middle = () => (view.has(this.#cursor ?? NaN) ? this.#cursor : view.start + view.span / 2);
    const zoom = (factor) => view.zoom(factor, middle());
    return {
      "zoom-in": () => zoom(1 / 1.5),
      "zoom-out": () => zoom(1.5),
      "pan-left": () => view.pan(-0.1),
      "pan-right": () => view.pan(0.1),
      "to-peak": () => this.#goToPeak(),
      reset: () => view.reset(),
    };
  }

  #listen() {
    const actions = this.#actions();
    for (const [id, action] of Object.entries(actions)) {
      byId(id).addEventListener("click", () => this.#act(action));
    }
    const keys = {
      ArrowLeft: actions["pan-left"], ArrowRight: actions["pan-right"], Home: actions.reset,
      "+": actions["zoom-in"], "=": actions["zoom-in"], "-": actions["zoom-out"], _: actions["zoom-out"],
      p: actions["to-peak"], P: actions["to-peak"], Escape: () => (this.#drag ? this.#endDrag() : actions.reset()),
    };
    const shifted = { ArrowLeft: () => this.#moveCursor(-1), ArrowRight: () => this.#moveCursor(1) };
    document.addEventListener("keydown", (event) => {
      const action = (event.shiftKey && shifted[event.key]) || keys[event.key];
      // The table below has keys of its own: those of a page that scrolls and those of a search box.
      if (!action || event.ctrlKey || event.metaKey || event.altKey || byId("blocks").contains(event.target)) return;
      if (event.target !== document.body) event.preventDefault();
      this.#act(action);
    });
    this.#listenToPointer();
    new ResizeObserver(() => this.#drawSoon()).observe(this.#chart);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#drawSoon());
    window.addEventListener("beforeprint", () => {
      document.documentElement.toggleAttribute("data-printing", true);
      this.draw(3);
      this.drawing.settle();
    });
    window.addEventListener("afterprint", () => {
      document.documentElement.toggleAttribute("data-printing", false);
      this.draw();
    });
  }

  /** Does what a key or a button asks for, and tells a screen reader where that has led. */
  #act(action) {
    action();
    this.draw();
    const at = this.hovered();
    const here = at ? `${timeText(at.time)}: ${bytesText(this.series.totalAt(at.index))}. ` : "";
    byId("spoken").textContent = `${here}Shown: ${byId("range").textContent}.`;
  }

  #listenToPointer() {
    const { view, drawing } = this;
    const place = (event) => event.clientX - this.#chart.getBoundingClientRect().left;
    const on = (name, listener) => this.#chart.addEventListener(name, listener, { passive: false });
    on("wheel", (event) => {
      const amount = (event.deltaY || event.deltaX) * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1);
      // Where there is no more to zoom out of, the page scrolls.
      if (event.ctrlKey || (amount > 0 && view.span >= view.duration)) return;
      event.preventDefault();
      if (event.shiftKey || !event.deltaY) view.pan(amount / drawing.plot.width);
      else view.zoom(Math.exp(clamp(amount, -500, 500) * 0.002), drawing.time(place(event)));
      this.#drawSoon();
    });
    on("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.#chart.setPointerCapture(event.pointerId);
      this.#drag = { from: place(event), pans: event.shiftKey, start: view.start, end: view.end };
      this.#chart.classList.toggle("panning", event.shiftKey);
    });
    on("pointermove", (event) => {
      this.#cursor = drawing.time(place(event));
      if (this.#drag) this.#dragTo(place(event));
      this.#showCursor();
    });
    on("pointerup", (event) => {
      const drag = this.#drag;
      if (drag && !drag.pans && Math.abs(place(event) - drag.from) > 3) {
        const [one, other] = [drawing.time(drag.from), drawing.time(place(event))];
        view.show(Math.min(one, other), Math.max(one, other));
        this.#drawSoon();
      }
      this.#endDrag();
    });
    on("pointercancel", () => this.#endDrag());
    on("pointerleave", () => {
      this.#cursor = null;
      this.#showCursor();
    });
    on("dblclick", () => this.#act(() => view.reset()));
  }

  #dragTo(x) {
    const { plot } = this.drawing;
    const { from, pans, start, end } = this.#drag;
    if (pans) {
      const moved = ((from - x) / plot.width) * this.view.span;
      this.view.show(start + moved, end + moved);
      this.#drawSoon();
      return;
    }
    const [left, right] = [Math.min(from, x), Math.max(from, x)].map((edge) => clamp(edge, plot.left, plot.right));
    const box = { left: `${left}px`, width: `${right - left}px`, top: `${plot.top}px`, height: `${plot.height}px` };
    Object.assign(byId("selection").style, box);
    byId("selection").hidden = false;
  }

  #endDrag() {
    this.#drag = null;
    this.#chart.classList.remove("panning");
    byId("selection").hidden = true;
    this.#showCursor();
  }
}

