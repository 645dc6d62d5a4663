// The table: what names add up to, of all or of what is selected. Sorted by any column, filtered by text and row.
import { byId, make } from "./dom.js";
import { NameTable } from "./name_table.js";
import { Groups, sums } from "./sums.js";
import { bytesText, countText, percentText, timeText } from "./text.js";

export class Table {
  /** @param {import("./state.js").State} state @param {import("./search.js").Search} search */
  constructor(state, search) {
    Object.assign(this, { state, model: state.model });
    this.groups = new Groups(this.model);
    this.table = new NameTable({
      id: "table",
      columns: this.chosenColumns(),
      sortedBy: "own",
      nameOf: ({ group }) => this.groups.nameOf(group),
      find: (text) => search.find(text),
    });
    const filter = byId("table-filter");
    filter.addEventListener("input", () => this.table.filter(filter.value));
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
      { key: "kind", title: "Kind", value: (sum) => model.contents.kinds[this.groups.list[sum.group].kind], isText: true, tone: () => "muted" },
      { key: "count", title: "Count", help: "How many there are", text: (sum) => countText(sum.count), value: (sum) => sum.count },
      time("own", "Self", "Without what is within them"),
      { key: "share", title: "Self %", help: "Of the self time of all rows of this table", value: (sum) => sum.own, cell: (sum) => this.shareCell(sum) },
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
    const { range } = this.state;
    this.sums = sums(this.model, this.groups, range, this.rows());
    this.own = this.sums.reduce((own, sum) => own + sum.own, 0);
    byId("table-scope").textContent = range
      ? `Selected: ${timeText(range.end - range.start)} from ${timeText(range.start)}. Times are those within it.`
      : "All of the recording. Shift and drag in the timeline to select a part of it.";
    this.table.fill(this.sums);
  }

  /** @param {import("./sums.js").Sum} sum */
  shareCell(sum) {
    const bar = make("i", { class: "bar", style: `width:${this.own > 0 ? (100 * sum.own) / this.own : 0}%` });
    return make("td", { class: "share" }, bar, make("span", {}, percentText(sum.own, this.own)));
  }
}
