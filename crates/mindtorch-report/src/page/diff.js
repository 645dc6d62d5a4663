// What changed from the first trace to the second, by name. Follows the selection, which is a time of both.
import { heading, nameCell, Sorting } from "./columns.js";
import { byId, make } from "./dom.js";
import { Groups, sums } from "./sums.js";
import { countText, percentText, signedText, timeText } from "./text.js";

const FIRST = 200;
const SIDES = ["before", "after"];

export class Diff {
  /** @param {import("./state.js").State} state @param {import("./search.js").Search} search */
  constructor(state, search) {
    Object.assign(this, { state, search, model: state.model, isStale: true, showsAll: false });
    this.groups = new Groups(this.model);
    this.sorting = new Sorting("ownChange");
    this.filter = byId("diff-filter");
    this.filter.addEventListener("input", () => this.show());
    byId("diff-per-step").addEventListener("change", () => this.update());
    byId("diff-per-step-label").hidden = SIDES.some((_, process) => this.stepsOf(process) === 0);
    state.on("range", () => this.update());
    const time = (side, key) => ({ key: side + key, text: (row) => (row[side] ? timeText(row[side][key]) : "–"), value: (row) => row[side]?.[key] ?? 0 });
    const count = (side) => ({ key: `${side}count`, text: (row) => (row[side] ? this.countOf(row[side].count) : "–"), value: (row) => row[side]?.count ?? 0 });
    const change = (key) => ({
      key: `${key}Change`,
      text: (row) => signedText(row.change[key], timeText),
      // A change is large in either direction.
      value: (row) => Math.abs(row.change[key]),
      tone: (row) => row.change[key],
    });
    this.columns = [
      { key: "name", title: "Name", isText: true, value: (row) => this.groups.list[row.group].text },
      { ...count("before"), title: "Count before" },
      { ...count("after"), title: "Count after" },
      { ...time("before", "own"), title: "Self before" },
      { ...time("after", "own"), title: "Self after" },
      { ...change("own"), title: "Change of self" },
      { key: "ratio", title: "%", text: (row) => this.ratio(row), value: (row) => row.change.own / Math.max(row.before?.own ?? 0, 1), tone: (row) => row.change.own },
      { ...time("before", "total"), title: "Total before" },
      { ...time("after", "total"), title: "Total after" },
      { ...change("total"), title: "Change of total" },
    ];
  }

  stepsOf(process) {
    return this.model.steps.filter((step) => step.process === process).length;
  }

  countOf(count) {
    return Number.isInteger(count) ? countText(count) : count.toFixed(2);
  }

  ratio({ before, after, change }) {
    if (!before) return "new";
    if (!after) return "gone";
    return before.own > 0 && change.own !== 0 ? `${change.own < 0 ? "−" : "+"}${percentText(Math.abs(change.own), before.own)}` : "";
  }

  update() {
    this.isStale = true;
    if (!byId("panel-diff").hidden) this.refresh();
  }

  /** What a side's names add up to, by group, of a step if that is asked for. */
  side(process) {
    const rows = this.model.rows.filter((row) => row.process === process);
    const isPerStep = byId("diff-per-step").checked && !this.state.range;
    const by = isPerStep ? this.stepsOf(process) || 1 : 1;
    const found = sums(this.model, this.groups, this.state.range, rows);
    return new Map(found.map(({ group, count, own, total }) => [group, { count: count / by, own: own / by, total: total / by }]));
  }

  refresh() {
    if (!this.isStale) return;
    this.isStale = false;
    const [before, after] = SIDES.map((_, process) => this.side(process));
    this.rows = this.groups.list.map((_, group) => {
      const row = { group, before: before.get(group), after: after.get(group) };
      const change = (key) => Math.round((row.after?.[key] ?? 0) - (row.before?.[key] ?? 0));
      return { ...row, change: { own: change("own"), total: change("total") } };
    }).filter((row) => row.before || row.after);
    this.show();
  }

  listed() {
    const wanted = this.filter.value.trim().toLowerCase();
    const found = this.rows.filter((row) => this.groups.list[row.group].text.toLowerCase().includes(wanted));
    return this.sorting.sorted(found, this.columns);
  }

  show() {
    const listed = this.listed();
    const shown = this.showsAll ? listed : listed.slice(0, FIRST);
    const own = (side) => this.rows.reduce((sum, row) => sum + (row[side]?.own ?? 0), 0);
    const [before, after] = SIDES.map(own);
    const change = Math.round(after - before);
    byId("diff-text").textContent =
      `Self time of all: ${timeText(Math.round(before))} before, ${timeText(Math.round(after))} after` +
      ` (${signedText(change, timeText)}${before > 0 ? `, ${change < 0 ? "−" : "+"}${percentText(Math.abs(change), before)}` : ""}).`;
    byId("diff-body").replaceChildren(
      make("table", { class: "numbers" }, this.heading(), make("tbody", {}, ...shown.map((row) => this.line(row)))),
      shown.length < listed.length ? make("button", { class: "more", onclick: () => this.showEverything() }, `Show all ${countText(listed.length)} rows`) : "",
    );
  }

  showEverything() {
    this.showsAll = true;
    this.show();
  }

  heading() {
    return heading(this.columns, this.sorting, (key) => {
      this.show();
      byId("diff-body").querySelector(`[data-column="${key}"]`).focus();
    });
  }

  line(row) {
    const { text, name } = this.groups.list[row.group];
    return make("tr", {}, ...this.columns.map((column) => {
      if (column.key === "name") return nameCell(text, this.model.shades[name], () => this.search.find(text));
      const change = column.tone ? column.tone(row) : 0;
      return make("td", { class: change > 0 ? "worse" : change < 0 && "better" }, column.text(row));
    }));
  }
}
