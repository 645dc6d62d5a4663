// A table of names: its headings sort it, a field filters it, and its names look for their events.
import { byId, make } from "./dom.js";
import { countText } from "./text.js";

/** Rows that are shown before someone asks for all. */
const FIRST = 200;

/**
 * @typedef {{ key: string, title: string, help?: string, isText?: boolean, value: (row: any) => any, text?: (row: any) => string,
 *   tone?: (row: any) => string | false, cell?: (row: any) => Node }} Column
 * `value` is what it is sorted by; `text` what is shown, if that is not it, and looked for by the field if it `isText`; `tone` the
 * class of a cell; `cell` makes one that is more than text.
 */

export class NameTable {
  /**
   * @param {{ id: string, columns: Column[], sortedBy: string, nameOf: (row: any) => { text: string, shade: number }, find: (text: string) => void }} parts
   * Rows go to the element `ID-body`. `sortedBy` is a column's key.
   */
  constructor({ id, columns, sortedBy, nameOf, find }) {
    Object.assign(this, { nameOf, find, body: byId(`${id}-body`), sortedBy, falls: true, showsAll: false, wanted: "" });
    this.columns = [{ key: "name", title: "Name", isText: true, value: (row) => nameOf(row).text, cell: (row) => this.nameCell(row) }, ...columns];
    /** @type {any[]} */
    this.rows = [];
  }

  /** @param {any[]} rows which stay in this order where the column that is sorted by has equal values */
  fill(rows) {
    this.rows = rows;
    this.show();
  }

  /** Shows the rows only that have this text in one of their texts. @param {string} text */
  filter(text) {
    this.wanted = text.trim().toLowerCase();
    this.show();
  }

  /** What is shown, in order. */
  listed() {
    const { wanted } = this;
    const texts = this.columns.filter((column) => column.isText);
    const isWanted = (row) => texts.map((column) => textOf(column, row)).join(" ").toLowerCase().includes(wanted);
    const { value } = this.columns.find((column) => column.key === this.sortedBy);
    const turn = this.falls ? -1 : 1;
    return this.rows.filter(isWanted).sort((one, other) => turn * compared(value(one), value(other)));
  }

  show() {
    const listed = this.listed();
    const shown = this.showsAll ? listed : listed.slice(0, FIRST);
    const more = make("button", { class: "more", onclick: () => this.showEverything() }, `Show all ${countText(listed.length)} rows`);
    this.body.replaceChildren(
      make("table", { class: "numbers" }, this.heading(), make("tbody", {}, ...shown.map((row) => this.line(row)))),
      ...(shown.length < listed.length ? [more] : []),
      ...(listed.length === 0 ? [make("p", { class: "empty" }, "Nothing here has such a name.")] : []),
    );
  }

  showEverything() {
    this.showsAll = true;
    this.show();
  }

  sort(column) {
    this.falls = column.key === this.sortedBy ? !this.falls : !column.isText;
    this.sortedBy = column.key;
    this.show();
    this.body.querySelector(`[data-column="${column.key}"]`).focus();
  }

  heading() {
    return make("thead", {}, make("tr", {}, ...this.columns.map((column) => {
      const isSorted = column.key === this.sortedBy;
      const order = isSorted ? (this.falls ? "descending" : "ascending") : "none";
      const arrow = isSorted ? (this.falls ? " ▾" : " ▴") : "";
      const button = make("button", { onclick: () => this.sort(column), title: column.help, "data-column": column.key }, column.title + arrow);
      return make("th", { scope: "col", "aria-sort": order, class: column.isText && "text" }, button);
    })));
  }

  line(row) {
    return make("tr", {}, ...this.columns.map((column) => {
      if (column.cell) return column.cell(row);
      const classes = [column.isText && "text", column.tone?.(row)].filter(Boolean).join(" ");
      return make("td", { class: classes || null }, textOf(column, row));
    }));
  }

  /** A name with its colour, which looks for it. */
  nameCell(row) {
    const { text, shade } = this.nameOf(row);
    const swatch = make("i", { class: "swatch", style: `background:var(--shade-${shade})` });
    const button = make("button", { class: "name", onclick: () => this.find(text), title: text }, text);
    return make("th", { scope: "row", class: "text" }, swatch, button);
  }
}

/** @param {Column} column */
function textOf(column, row) {
  return (column.text ?? column.value)(row);
}

function compared(one, other) {
  return typeof one === "string" ? one.localeCompare(other, "en") : one - other;
}
