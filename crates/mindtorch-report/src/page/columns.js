// What tables of names have in common: headings that sort, and cells with a name.
import { make } from "./dom.js";

/**
 * @typedef {{ key: string, title: string, help?: string, isText?: boolean, value: (row: any) => any, text?: (row: any) => string }} Column
 * `value` is what it is sorted by.
 */

/** By which column a table is sorted, and whether from the largest on. */
export class Sorting {
  /** @param {string} key */
  constructor(key) {
    this.key = key;
    this.falls = true;
  }

  /** @param {Column} column */
  choose(column) {
    this.falls = column.key === this.key ? !this.falls : !column.isText;
    this.key = column.key;
  }

  /** @param {any[]} rows @param {Column[]} columns */
  sorted(rows, columns) {
    const { value, isText } = columns.find((column) => column.key === this.key);
    const turn = this.falls ? -1 : 1;
    const compared = isText
      ? (a, b) => turn * value(a).localeCompare(value(b), "en")
      : (a, b) => turn * (value(a) - value(b)) || a.group - b.group;
    return rows.slice().sort(compared);
  }
}

/**
 * The head of a table, whose buttons sort it.
 * @param {Column[]} columns @param {Sorting} sorting
 * @param {(key: string) => void} changed is told by which column
 */
export function heading(columns, sorting, changed) {
  return make("thead", {}, make("tr", {}, ...columns.map((column) => {
    const isSorted = column.key === sorting.key;
    const sort = () => {
      sorting.choose(column);
      changed(column.key);
    };
    const order = isSorted ? (sorting.falls ? "descending" : "ascending") : "none";
    const arrow = isSorted ? (sorting.falls ? " ▾" : " ▴") : "";
    const button = make("button", { onclick: sort, title: column.help, "data-column": column.key }, column.title + arrow);
    return make("th", { scope: "col", "aria-sort": order, class: column.isText && "text" }, button);
  })));
}

/** A name with its colour, which looks for it. @param {string} text @param {number} shade @param {() => void} find */
export function nameCell(text, shade, find) {
  const swatch = make("i", { class: "swatch", style: `background:var(--shade-${shade})` });
  return make("th", { scope: "row", class: "text" }, swatch, make("button", { class: "name", onclick: find, title: text }, text));
}
