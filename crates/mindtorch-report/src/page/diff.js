// What changed from the first trace to the second: verdicts, if there are steps enough to tell a change from noise, and totals.
import { byId, make } from "./dom.js";
import { Totals } from "./totals.js";
import { Verdicts } from "./verdicts.js";

export class Diff {
  /** @param {import("./state.js").State} state @param {import("./search.js").Search} search */
  constructor(state, search) {
    const { difference, processes } = state.model.contents;
    Object.assign(this, { state, difference, isStale: true, verdicts: new Verdicts(state, search), totals: new Totals(state, search) });
    this.showHeadline(processes);
    this.choice = byId("diff-what");
    this.choice.value = difference.is_tested ? "verdicts" : "totals";
    this.choice.hidden = !difference.is_tested;
    this.choice.addEventListener("change", () => this.update());
    byId("diff-per-step").addEventListener("change", () => this.update());
    const filter = byId("diff-filter");
    filter.addEventListener("input", () => [this.verdicts, this.totals].forEach(({ table }) => table.filter(filter.value)));
    state.on("range", () => this.update());
  }

  showHeadline(processes) {
    const { headline, is_tested: isTested } = this.difference;
    const sides = headline.sides.map((side, at) => ["AB"[at], `${processes[at].name}: ${side}`]);
    const lines = [["Step", headline.step], ["Machine", headline.machine], ["Device", headline.device], ...sides];
    byId("diff-headline").replaceChildren(
      make("p", { class: isTested ? "verdict" : "verdict warning" }, `${headline.verdict}.`),
      !isTested && make("p", {}, "What follows are totals. That they differ does not say that anything changed.") || "",
      make("dl", {}, ...lines.filter(([, text]) => text).flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)])),
      headline.note && make("p", { class: "note" }, headline.note) || "",
    );
  }

  get showsVerdicts() {
    return this.choice.value === "verdicts";
  }

  update() {
    this.isStale = true;
    if (!byId("panel-diff").hidden) this.refresh();
  }

  refresh() {
    if (!this.isStale) return;
    this.isStale = false;
    const { showsVerdicts, totals, state } = this;
    byId("verdicts-body").hidden = !showsVerdicts;
    byId("totals-body").hidden = showsVerdicts;
    byId("diff-per-step-label").hidden = showsVerdicts || !totals.hasSteps;
    if (!showsVerdicts) totals.refresh();
    const ofSelection = state.range ? "Of all steps, whatever is selected: totals follow the selection." : "";
    byId("diff-text").textContent = showsVerdicts ? ofSelection : totals.text;
  }
}
