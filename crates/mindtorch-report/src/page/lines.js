// Draws counters as lines, with no more strokes than there are pixels.
import { LINE } from "./layout.js";

const MARGIN = 3;

/** @param {import("./counters.js").Counter} counter @param {import("./painter.js").Painter} painter which knows what is in view */
export function drawLine(context, counter, painter, top, colours) {
  const { left, right, start, end, scale, model } = painter;
  const { offset_ns: began, duration_ns: length } = model.processes[counter.process];
  const [least, most] = [Math.min(counter.least, 0), Math.max(counter.most, 0)];
  const unit = most > least ? (LINE - 2 * MARGIN - 1) / (most - least) : 0;
  const y = (value) => Math.round(top + LINE - MARGIN - 1 - (value - least) * unit);
  const x = (time) => Math.floor(Math.min(Math.max(painter.x(time), left), right));
  let place = Math.max(counter.placeAt(start), 0);
  let before = null;
  context.fillStyle = colours.accent;
  while (place < counter.count && counter.times[place] <= end) {
    const from = x(counter.times[place]);
    // What is within a pixel is one stroke, from the least to the most.
    const next = Math.max(counter.placeAfter(start + (from + 1 - left) / scale, place), place + 1);
    const [low, high] = counter.bounds(place, next);
    const last = y(counter.values[next - 1]);
    const upper = Math.min(y(high), before ?? last);
    const lower = Math.max(y(low), before ?? last);
    context.fillRect(from, upper, 1, lower - upper + 1);
    const until = x(next < counter.count ? counter.times[next] : began + length);
    if (until > from + 1) context.fillRect(from, last, until - from, 1);
    place = next;
    before = last;
  }
}
