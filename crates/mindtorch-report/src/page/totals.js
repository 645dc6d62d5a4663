// What each name took in the one trace and in the other. Follows the selection, which is a time of both.
import { byId } from "./dom.js";
import { NameTable } from "./name_table.js";
import { Groups, sums } from "./sums.js";
import { countText, percentText, signedText, timeText } from "./text.js";

const SIDES = ["before", "after"];

export class Totals {
  /** @param {import("./state.js").State} state @param {import("./search.js").Search} search */
  constructor(state, search) {
    Object.assign(this, { state, model: state.model });
    this.groups = new Groups(this.model);
    this.perStep = byId("diff-per-step");
    this.table = new NameTable({
      id: "totals",
      columns: this.columns(),
      sortedBy: "ownChange",
      nameOf: ({ group }) => this.groups.nameOf(group),
      find: (text) => search.find(text),
    });
  }

  columns() {
    const count = (side) => ({ key: `${side}count`, text: (row) => (row[side] ? this.countOf(row[side].count) : "–"), value: (row) => row[side]?.count ?? 0 });
    const time = (side, key) => ({ key: side + key, text: (row) => (row[side] ? timeText(row[side][key]) : "–"), value: (row) => row[side]?.[key] ?? 0 });
    const tone = (key) => (row) => (row.change[key] > 0 ? "worse" : row.change[key] < 0 && "better");
    const change = (key) => ({
      key: `${key}Change`,
      text: (row) => signedText(row.change[key], timeText),
      // A change is large in either direction.
      value: (row) => Math.abs(row.change[key]),
      tone: tone(key),
    });
    return [
      { ...count("before"), title: "Count before" },
      { ...count("after"), title: "Count after" },
      { ...time("before", "own"), title: "Self before" },
      { ...time("after", "own"), title: "Self after" },
      { ...change("own"), title: "Change of self" },
      { key: "ratio", title: "%", text: (row) => this.ratio(row), value: (row) => row.change.own / Math.max(row.before?.own ?? 0, 1), tone: tone("own") },
      { ...time("before", "total"), title: "Total before" },
      { ...time("after", "total"), title: "Total after" },
      { ...change("total"), title: "Change of total" },
    ];
  }

  countOf(count) {
    return Number.isInteger(count) ? countText(count) : count.toFixed(2);
  }

  ratio({ before, after, change }) {
    if (!before) return "new";
    if (!after) return "gone";
    return before.own > 0 && change.own !== 0 ? signedText(change.own, (size) => percentText(size, before.own)) : "";
  }

  stepsOf(process) {
    return this.model.steps.filter((step) => step.process === process).length;
  }

  /** Whether both sides have steps to divide by. */
  get hasSteps() {
    return SIDES.every((_, process) => this.stepsOf(process) > 0);
  }

  /** What a side's names add up to, by group, of a step if that is asked for. */
  side(process) {
    const rows = this.model.rows.filter((row) => row.process === process);
    const isPerStep = this.perStep.checked && !this.state.range;
    const by = isPerStep ? this.stepsOf(process) || 1 : 1;
    const found = sums(this.model, this.groups, this.state.range, rows);
    return new Map(found.map(({ group, count, own, total }) => [group, { count: count / by, own: own / by, total: total / by }]));
  }

  refresh() {
    const [before, after] = SIDES.map((_, process) => this.side(process));
    const rows = this.groups.list.map((_, group) => {
      const row = { group, before: before.get(group), after: after.get(group) };
      const change = (key) => Math.round((row.after?.[key] ?? 0) - (row.before?.[key] ?? 0));
      return { ...row, change: { own: change("own"), total: change("total") } };
    }).filter((row) => row.before || row.after);
    this.table.fill(rows);
  }

  /** What all of them come to. */
  get text() {
    const own = (side) => this.table.rows.reduce((sum, row) => sum + (row[side]?.own ?? 0), 0);
    const [before, after] = SIDES.map(own);
    const change = Math.round(after - before);
    const share = before > 0 ? `, ${signedText(change, (size) => percentText(size, before))}` : "";
    return `Self time of all: ${timeText(Math.round(before))} before, ${timeText(Math.round(after))} after (${signedText(change, timeText)}${share}).`;
  }
}
