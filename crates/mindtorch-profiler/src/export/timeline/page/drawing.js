/** The picture: areas, axes, steps and the peak, on a canvas that has a pixel for each of the screen's. */
class Drawing {
  static MARGIN = { left: 80, right: 16, top: 44, bottom: 26 };

  constructor(canvas, series, view, { steps, peak }) {
    Object.assign(this, { canvas, series, view, steps, peak, context: canvas.getContext("2d") });
    this.plot = { left: 0, top: 0, right: 1, bottom: 1, width: 1, height: 1 };
    this.columns = new Int32Array(1);
  }

  x(time) {
    return this.plot.left + this.view.position(time, this.plot.width);
  }

  /** The time at a place in the chart; outside of the plot that of its edge. */
  time(x) {
    return this.view.start + (clamp(x - this.plot.left, 0, this.plot.width) / this.plot.width) * this.view.span;
  }

  draw(width, height, scale) {
    const { left, right, top, bottom } = Drawing.MARGIN;
    this.plot = { left, top, right: Math.max(width - right, left + 1), bottom: Math.max(height - bottom, top + 1) };
    this.plot.width = this.plot.right - left;
    this.plot.height = this.plot.bottom - top;
    this.columns = this.series.columns(this.view, Math.round(this.plot.width * scale));
    const most = this.columns.reduce((largest, index) => Math.max(largest, this.series.totalAt(index)), 0);
    const limit = Math.max(most * 1.05, 1);
    const style = getComputedStyle(document.documentElement);
    this.colour = (name) => style.getPropertyValue(`--${name}`);
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.#drawAreas(scale, limit);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    const { fontSize, fontFamily } = getComputedStyle(document.body);
    this.context.font = `${Math.round(parseFloat(fontSize) * 0.86)}px ${fontFamily}`;
    this.context.textBaseline = "middle";
    this.context.strokeStyle = this.colour("ink");
    this.#drawSizes(limit);
    this.#drawTimes();
    this.#drawPeak();
    this.#drawSteps();
  }

  /** Leaves only pixels: browsers print the calls that made them, and light shows between the columns. */
  settle() {
    const { width, height } = this.canvas;
    this.context.putImageData(this.context.getImageData(0, 0, width, height), 0, 0);
  }

  /** Paints in the screen's pixels, a rectangle for each run of equal columns; a path takes twice as long. */
  #drawAreas(scale, limit) {
    const { context, columns, series } = this;
    const left = Math.round(this.plot.left * scale);
    const bottom = Math.round(this.plot.bottom * scale);
    const perByte = (bottom - Math.round(this.plot.top * scale)) / limit;
    const sums = new Float64Array(columns.length);
    for (const category of series.shown) {
      let run = { from: 0, low: 0, high: 0 };
      const fill = (to) => context.fillRect(left + run.from, bottom - run.high, to - run.from, run.high - run.low);
      context.fillStyle = this.colour(`category-${category}`);
      for (let column = 0; column < columns.length; column++) {
        const low = Math.round(sums[column] * perByte);
        sums[column] += series.sizeAt(category, columns[column]);
        const high = Math.round(sums[column] * perByte);
        if (low === run.low && high === run.high) continue;
        if (run.high > run.low) fill(column);
        run = { from: column, low, high };
      }
      if (run.high > run.low) fill(columns.length);
    }
  }

  #line(x, y, toX, toY, { alpha = 1, width = 1, dash = [] } = {}) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
    context.globalAlpha = 1;
  }

  #text(text, x, y, { align = "center", colour = "muted" } = {}) {
    this.context.textAlign = align;
    this.context.fillStyle = this.colour(colour);
    this.context.fillText(text, x, y);
  }

  #drawSizes(limit) {
    const { left, right, bottom, height } = this.plot;
    const unit = byteUnit(limit);
    for (const size of ticks(0, limit, clamp(height / 50, 2, 10), unit.size).values) {
      const y = Math.round(bottom - (size / limit) * height) + 0.5;
      this.#line(left, y, right, y, { alpha: size === 0 ? 1 : 0.14 });
      const text = size === 0 ? "0" : `${Number((size / unit.size).toFixed(2))} ${unit.name}`;
      this.#text(text, left - 8, y, { align: "right" });
    }
  }

  #drawTimes() {
    const { right, bottom, width } = this.plot;
    const { values, step } = ticks(this.view.start, this.view.end, clamp(width / 130, 2, 20), 1);
    for (const time of values) {
      const text = timeText(time, step, timeUnit(this.view.end));
      const half = this.context.measureText(text).width / 2;
      const x = Math.round(this.x(time)) + 0.5;
      this.#line(x, bottom, x, bottom + 5);
      this.#text(text, Math.min(x, right + Drawing.MARGIN.right - half), bottom + 16);
    }
  }

  /** Marks where steps begin, without the lines and labels that would run into others. */
  #drawSteps() {
    const { top, right, bottom } = this.plot;
    let line = -Infinity;
    let label = -Infinity;
    for (const { number, start_ns: start } of this.steps) {
      const x = Math.round(this.x(start)) + 0.5;
      if (!this.view.has(start) || x < line + 4) continue;
      line = x;
      const text = `step ${number}`;
      const end = x + 5 + this.context.measureText(text).width;
      const labelled = x > label + 8 && end < right + Drawing.MARGIN.right;
      this.#line(x, labelled ? top - 22 : top, x, bottom, { alpha: 0.6, dash: [3, 3] });
      if (!labelled) continue;
      label = end;
      // The line of the peak may pass here.
      this.context.clearRect(x + 3, top - 22, end - x, 16);
      this.#text(text, x + 5, top - 14, { align: "left" });
    }
  }

  /** Marks the peak, or says on which side of the view it is. */
  #drawPeak() {
    const { context, view, peak } = this;
    const { left, right, bottom } = this.plot;
    const words = `peak ${bytesText(peak.bytes)} at ${timeText(peak.at_ns)}`;
    const text = peak.at_ns < view.start ? `◂ ${words}` : peak.at_ns > view.end ? `${words} ▸` : words;
    const half = context.measureText(text).width / 2;
    const x = Math.round(this.x(peak.at_ns));
    this.#text(text, clamp(x, left + half, right + Drawing.MARGIN.right - half), 7, { colour: "ink" });
    if (!view.has(peak.at_ns)) return;
    this.#line(x, 15, x, bottom, { width: 2 });
    context.beginPath();
    context.moveTo(x - 5, 15);
    context.lineTo(x + 5, 15);
    context.lineTo(x, 22);
    context.fill();
  }
}

