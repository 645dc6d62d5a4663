// Arrows from an operator to its kernels, and from a forward operator to its backward node.
import { LANE } from "./layout.js";
import { NONE } from "./model.js";

/** More arrows than this are not looked at one by one. */
const MOST = 200;

/** The pairs of events that the selected one is linked with, the earlier first. Those of one event are kept. */
export function linked(model, event) {
  if (linked.of === event && linked.in === model) return linked.pairs;
  const launcher = model.launcherOf(event);
  const work = model.rowOf(event).is_device ? [] : model.launchesOf(event, MOST);
  const pairs = [
    ...(launcher === NONE ? [] : [[launcher, event, "launch"]]),
    ...work.map((one) => [model.launcherOf(one), one, "launch"]),
    ...model.linksOf(event).map(([forward, backward]) => [forward, backward, "backward"]),
  ];
  Object.assign(linked, { of: event, in: model, pairs });
  return pairs;
}

export function drawLinks(context, timeline, shift) {
  const { model, colours, painter, layout, state } = timeline;
  context.lineWidth = 1.25;
  for (const [from, to, what] of linked(model, state.event)) {
    const isBackward = what === "backward";
    const x0 = painter.x(isBackward ? model.end(from) : model.start[from]);
    const x1 = painter.x(model.start[to]);
    const [y0, y1] = [from, to].map((event) => layout.topOf(event) + shift + LANE / 2);
    context.strokeStyle = context.fillStyle = isBackward ? colours.accent : colours.mark;
    const bend = Math.max(Math.abs(x1 - x0) / 2, 24);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 7, y1 - 4);
    context.lineTo(x1 - 7, y1 + 4);
    context.fill();
  }
}
