// What to look at first: facts, and where they are to be seen.
import { byId, make } from "./dom.js";

const TITLES = {
  self_time: "Largest self time",
  device_time: "Largest device time",
  idle_device: "Idle device",
  waits: "Waiting for devices",
  copies: "Copies",
  short_operators: "Short operators",
  short_kernels: "Short device work",
  memory_peak: "Memory peak",
  slow_steps: "Slow steps",
};

export class Findings {
  /** @param {import("./state.js").State} state @param {(finding: any) => void} memory shows the memory that is told of */
  constructor(state, memory) {
    const { contents } = state.model;
    const several = contents.processes.length > 1;
    const cards = contents.findings.map((finding) => {
      const where = several ? ` · ${contents.processes[finding.process].name}` : "";
      const places = finding.evidence.map((evidence, at) => make("li", {}, this.place(state, evidence, finding.events[at])));
      const more = finding.kind === "memory_peak" && make("button", { onclick: () => memory(finding) }, "Show memory");
      return make("article", { class: "finding" },
        make("h3", {}, TITLES[finding.kind] ?? finding.kind, make("small", {}, where)),
        make("p", {}, finding.text), places.length > 0 && make("ul", {}, ...places), more);
    });
    const nothing = make("p", { class: "empty" }, "The recording has nothing that could be told of.");
    byId("findings").replaceChildren(...(cards.length > 0 ? cards : [nothing]));
  }

  /** A button that shows a piece of evidence in the timeline. */
  place(state, evidence, event) {
    const go = () => {
      if (event !== null && event !== undefined) {
        state.goTo(event);
      } else {
        state.selectRange(evidence.start_ns, evidence.end_ns);
        state.showAround(evidence.start_ns, evidence.end_ns);
      }
    };
    return make("button", { class: "link", title: evidence.label, onclick: go }, evidence.label);
  }
}
