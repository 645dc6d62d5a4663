// The time above the rows: ticks, and the steps of the program.
import { tickText, timeText } from "./text.js";

export const RULER = 24;
export const STEPS = 16;
const LEAST_DISTANCE = 90;

/** A round distance of ticks that are so far apart. @param {number} least in nanoseconds */
export function tickDistance(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((distance) => distance >= least);
}

/** Lines through all rows, which spans are drawn over. */
export function drawGrid(context, view, height, colours) {
  const distance = tickDistance(((view.end - view.start) / view.width) * LEAST_DISTANCE);
  context.fillStyle = colours.grid;
  for (const time of ticks(view, distance)) {
    context.fillRect(Math.round(view.left + ((time - view.start) / (view.end - view.start)) * view.width), 0, 1, height);
  }
}

export function drawRuler(context, view, colours) {
  const distance = tickDistance(((view.end - view.start) / view.width) * LEAST_DISTANCE);
  context.fillStyle = colours.raised;
  context.fillRect(view.left, 0, view.width, RULER);
  context.fillStyle = colours.line;
  context.fillRect(view.left, RULER - 1, view.width, 1);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const time of ticks(view, distance)) {
    const x = Math.round(view.left + ((time - view.start) / (view.end - view.start)) * view.width);
    context.fillStyle = colours.line;
    context.fillRect(x, 15, 1, RULER - 16);
    context.fillStyle = colours.muted;
    context.fillText(tickText(time, distance), x + 4, RULER / 2);
  }
}

function* ticks({ start, end }, distance) {
  for (let time = Math.ceil(start / distance) * distance; time <= end; time += distance) yield time;
}

/** @param {any[]} steps in the order of time, of one process */
export function drawSteps(context, view, steps, colours) {
  const scale = view.width / (view.end - view.start);
  context.fillStyle = colours.paper;
  context.fillRect(view.left, RULER, view.width, STEPS);
  let drawnTo = -Infinity;
  for (const [at, step] of steps.entries()) {
    const x0 = Math.max(view.left + (step.start_ns - view.start) * scale, view.left);
    const x1 = Math.min(view.left + (step.end_ns - view.start) * scale, view.left + view.width);
    if (x1 < x0 || x1 < drawnTo) continue;
    context.fillStyle = at % 2 === 0 ? colours.faint : colours.raised;
    const width = Math.max(x1 - x0 - 1, 1);
    context.fillRect(x0, RULER + 1, width, STEPS - 3);
    drawnTo = x0 + width;
    if (width < 40) continue;
    context.fillStyle = colours.muted;
    const text = `step ${step.number}`;
    const long = `${text} · ${timeText(step.end_ns - step.start_ns)}`;
    context.fillText(width > 130 ? long : text, x0 + 5, RULER + STEPS / 2, width - 8);
  }
}
