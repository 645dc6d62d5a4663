// The details pane. It shows the selected span, and is open while one is selected.
import { announce, byId, make } from "./dom.js";
import { linked } from "./links.js";
import { NONE } from "./model.js";
import { bytesText, countText, percentText, timeText } from "./text.js";

/** Lines of a list that are shown. */
const MOST = 12;

export class Details {
  /** @param {import("./state.js").State} state */
  constructor(state) {
    Object.assign(this, { state, model: state.model });
    state.on("event", () => this.show());
    this.show();
  }

  show() {
    const { event } = this.state;
    const place = byId("details");
    place.hidden = event === NONE;
    if (event === NONE) return;
    const { model } = this;
    announce(`${model.nameOf(event)}, ${model.isMark(event) ? "mark" : timeText(model.duration[event])}`);
    place.replaceChildren(
      make("button", { class: "close", "aria-label": "Close", title: "Close (Esc)", onclick: () => this.close() }, "×"),
      make("h2", { class: "mono" }, model.nameOf(event)),
      make("dl", {}, ...this.facts(event).flatMap(([term, fact]) => [make("dt", {}, term), make("dd", {}, fact)])),
      this.actions(event),
      ...this.list("Inputs", model.inputsOf(event).map((text) => make("li", { class: "mono" }, text))),
      ...this.list("Stack, innermost first", model.stackOf(event).map((text) => make("li", { class: "mono" }, text))),
      ...this.links(event),
    );
  }

  facts(event) {
    const { model } = this;
    const row = model.rowOf(event);
    const parent = model.parent[event];
    const step = model.stepOf(event);
    const [host, device] = model.memoryOf(event);
    const flags = model.flags[event];
    const cut = [flags & 1 && "begins before the recording", flags & 2 && "does not end in it", flags & 4 && "ends on another thread"];
    const isMark = model.isMark(event);
    const where = model.processes.length > 1 ? `${model.processes[row.process].name}, ${row.label}` : row.label;
    return [
      ["Kind", model.contents.kinds[model.kindOf(event)]],
      ["Time", isMark ? null : `${timeText(model.duration[event])} (${countText(model.duration[event])} ns)`],
      ["Self", row.is_device || isMark ? null : `${timeText(model.own[event])} (${percentText(model.own[event], model.duration[event]) || "0 %"})`],
      [isMark ? "At" : "From", timeText(model.start[event])],
      ["On", where],
      ["Step", step && String(step.number)],
      ["Within", parent === NONE ? null : this.jump(parent)],
      ["On device", model.hasDevice && model.launched[event] ? timeText(model.launched[event]) : null],
      ["Moved", model.bytes[event] ? bytesText(model.bytes[event]) : null],
      ["Flops", model.flops[event] ? countText(model.flops[event]) : null],
      ["Self memory", host ? bytesText(host) : null],
      ["Self device memory", device ? bytesText(device) : null],
      ["Note", cut.filter(Boolean).join(", ") || null],
    ].filter(([, fact]) => fact);
  }

  actions(event) {
    const { state, model } = this;
    const [start, end] = [model.start[event], model.end(event)];
    return make("p", { class: "actions" },
      make("button", { onclick: () => state.showAround(start, end) }, "Zoom to it"),
      make("button", { onclick: () => state.selectRange(start, end) }, "Select its time"),
    );
  }

  close() {
    this.state.selectEvent(NONE);
    byId("canvas").focus();
  }

  jump(event) {
    return make("button", { class: "link", onclick: () => this.state.goTo(event) }, this.model.nameOf(event));
  }

  links(event) {
    const pairs = linked(this.model, event);
    const item = (other, text) => make("li", {}, this.jump(other), make("small", {}, ` ${text}`));
    const launches = pairs.filter(([, , what]) => what === "launch");
    const isWork = launches.length === 1 && launches[0][1] === event;
    const others = launches.map(([from, to]) => (isWork ? from : to));
    const title = isWork ? "Launched by" : `Launched ${countText(others.length)} on devices`;
    const passes = pairs.filter(([, , what]) => what === "backward");
    const pass = ([from, to]) => (from === event ? item(to, "its backward node") : item(from, "its forward operator"));
    return [
      ...this.list(title, others.map((other) => item(other, timeText(this.model.duration[other])))),
      ...this.list("Forward and backward", passes.map(pass)),
    ];
  }

  list(title, items) {
    if (items.length === 0) return [];
    const more = items.length - MOST;
    const shown = more > 0 ? [...items.slice(0, MOST), make("li", { class: "muted" }, `and ${countText(more)} more`)] : items;
    return [make("h3", {}, title), make("ul", {}, ...shown)];
  }
}
