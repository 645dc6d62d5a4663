// The table: what names add up to, of all or of what is selected. Sorted by any column, filtered by text and row.
import { heading, nameCell, Sorting } from "./columns.js";
import { byId, make } from "./dom.js";
import { Groups, sums } from "./sums.js";
import { bytesText, countText, percentText, timeText } from "./text.js";

/** Rows that are shown before someone asks for all. */
const FIRST = 200;

export class Table {
  /** @param {import("./state.js").State} state @param {import("./search.js").Search} search */
  constructor(state, search) {
    Object.assign(this, { state, search, model: state.model });
    this.groups = new Groups(this.model);
    this.sorting = new Sorting("own");
    this.showsAll = false;
    this.columns = this.chosenColumns();
    this.filter = byId("table-filter");
    this.filter.addEventListener("input", () => this.show());
    this.rowChoice = byId("table-row");
    this.placeRowChoice();
    this.rowChoice.addEventListener("change", () => this.update());
    state.on("range", () => this.update());
    this.isStale = true;
  }

  chosenColumns() {
    const { model } = this;
    const time = (key, title, help) => ({ key, title, help, text: (sum) => timeText(sum[key]), value: (sum) => sum[key] });
    return [
      { key: "name", title: "Name", value: (sum) => this.groups.list[sum.group].text, isText: true },
      { key: "kind", title: "Kind", value: (sum) => model.contents.kinds[this.groups.list[sum.group].kind], isText: true },
      { key: "count", title: "Count", help: "How many there are", text: (sum) => countText(sum.count), value: (sum) => sum.count },
      time("own", "Self", "Without what is within them"),
      { key: "share", title: "Self %", help: "Of the self time of all rows of this table", text: (sum) => percentText(sum.own, this.own), value: (sum) => sum.own },
      time("total", "Total", "With what is within them"),
      { key: "average", title: "Average", help: "Total time by count", text: (sum) => timeText(sum.total / sum.count), value: (sum) => sum.total / sum.count },
      time("longest", "Longest", "The longest of them"),
      model.hasDevice && { ...time("launched", "On device", "What devices did that they launched themselves"), text: (sum) => (sum.launched ? timeText(sum.launched) : "") },
      model.hostMemory.some((size) => size) || model.deviceMemory.some((size) => size)
        ? { key: "memory", title: "Self memory", help: "Allocated less freed by them", text: (sum) => (sum.memory ? bytesText(sum.memory) : ""), value: (sum) => sum.memory }
        : null,
    ].filter(Boolean);
  }

  placeRowChoice() {
    const { processes, rows } = this.model;
    const options = [make("option", { value: "" }, "All threads and devices")];
    processes.forEach((process, number) => {
      if (processes.length > 1) options.push(make("option", { value: `p${number}` }, process.name));
      rows.forEach((row, at) => {
        if (row.process !== number) return;
        options.push(make("option", { value: `r${at}` }, processes.length > 1 ? `${process.name}: ${row.label}` : row.label));
      });
    });
    this.rowChoice.replaceChildren(...options);
  }

  rows() {
    const { rows } = this.model;
    const { value } = this.rowChoice;
    if (!value) return rows;
    const number = Number(value.slice(1));
    return value[0] === "p" ? rows.filter((row) => row.process === number) : [rows[number]];
  }

  /** Counts again, now or when it is next looked at. */
  update() {
    this.isStale = true;
    if (!byId("panel-table").hidden) this.refresh();
  }

  refresh() {
    if (!this.isStale) return;
    this.isStale = false;
    this.sums = sums(this.model, this.groups, this.state.range, this.rows());
    this.own = this.sums.reduce((own, sum) => own + sum.own, 0);
    this.show();
  }

  /** What is shown, in order. */
  listed() {
    const wanted = this.filter.value.trim().toLowerCase();
    const texts = (sum) => `${this.groups.list[sum.group].text} ${this.model.contents.kinds[this.groups.list[sum.group].kind]}`;
    return this.sorting.sorted(this.sums.filter((sum) => texts(sum).toLowerCase().includes(wanted)), this.columns);
  }

  show() {
    const listed = this.listed();
    const shown = this.showsAll ? listed : listed.slice(0, FIRST);
    const { range } = this.state;
    byId("table-scope").textContent = range
      ? `Selected: ${timeText(range.end - range.start)} from ${timeText(range.start)}. Times are those within it.`
      : "All of the recording. Shift and drag in the timeline to select a part of it.";
    const more = make("button", { class: "more", onclick: () => this.showEverything() }, `Show all ${countText(listed.length)} rows`);
    byId("table-body").replaceChildren(
      make("table", { class: "numbers" }, this.heading(), make("tbody", {}, ...shown.map((sum) => this.line(sum)))),
      ...(shown.length < listed.length ? [more] : []),
      ...(listed.length === 0 ? [make("p", { class: "empty" }, "Nothing here has such a name.")] : []),
    );
  }

  showEverything() {
    this.showsAll = true;
    this.show();
  }

  heading() {
    return heading(this.columns, this.sorting, (key) => {
      this.show();
      byId("table-body").querySelector(`[data-column="${key}"]`).focus();
    });
  }

  /** @param {import("./sums.js").Sum} sum */
  line(sum) {
    const { text, kind, name } = this.groups.list[sum.group];
    const find = () => this.search.find(text);
    return make("tr", {}, ...this.columns.map((column) => {
      if (column.key === "name") return nameCell(text, this.model.shades[name], find);
      if (column.key === "kind") return make("td", { class: "text muted" }, this.model.contents.kinds[kind]);
      if (column.key !== "share") return make("td", {}, column.text(sum));
      const bar = make("i", { class: "bar", style: `width:${this.own > 0 ? (100 * sum.own) / this.own : 0}%` });
      return make("td", { class: "share" }, bar, make("span", {}, column.text(sum)));
    }));
  }
}
