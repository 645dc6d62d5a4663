// Finds events by a part of their name, and goes from one to the next in the order of time.
import { announce, byId } from "./dom.js";
import { lowerBound } from "./data.js";
import { NONE } from "./model.js";
import { countText } from "./text.js";

export class Search {
  /** @param {import("./state.js").State} state */
  constructor(state) {
    Object.assign(this, { state, model: state.model, total: 0 });
    this.input = byId("search");
    this.counts = new Uint32Array(this.model.names.length);
    for (let event = 0; event < this.model.count; event++) this.counts[this.model.name[event]]++;
    this.lowered = this.model.names.map((name) => name.toLowerCase());
    this.input.addEventListener("input", () => this.look());
    this.input.addEventListener("keydown", (event) => this.key(event));
    byId("search-next").addEventListener("click", () => this.go(1));
    byId("search-previous").addEventListener("click", () => this.go(-1));
    state.on("event", () => this.say());
  }

  /** Looks for a text, as if someone had written it. @param {string} text */
  find(text) {
    this.input.value = text;
    this.look();
    this.go(1);
  }

  look() {
    const wanted = this.input.value.trim().toLowerCase();
    const found = wanted ? Uint8Array.from(this.lowered, (name) => Number(hasParts(name, wanted.split("*")))) : null;
    this.total = found ? this.counts.reduce((total, count, name) => total + (found[name] ? count : 0), 0) : 0;
    this.state.search(found);
    this.say();
    if (found) announce(`${countText(this.total)} found`);
  }

  key(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      this.input.value = "";
      this.look();
      byId("canvas").focus();
    }
  }

  say() {
    const { found, event } = this.state;
    const isFound = found && event !== NONE && found[this.model.name[event]];
    const place = isFound ? `${countText(this.placeOf(event))} of ` : "";
    byId("search-count").textContent = found ? `${place}${countText(this.total)}` : "";
    for (const id of ["search-next", "search-previous"]) byId(id).disabled = this.total === 0;
  }

  /** Whether `one` comes before `other` in the order of time. */
  isBefore(one, other) {
    const { start } = this.model;
    return start[one] < start[other] || (start[one] === start[other] && one < other);
  }

  /** How many there are up to an event, itself among them. */
  placeOf(event) {
    const { model, state } = this;
    let count = 0;
    for (const row of model.tracks) {
      for (let at = row.first; at < row.first + row.count && model.start[at] <= model.start[event]; at++) {
        if (state.found[model.name[at]] && !this.isBefore(event, at)) count++;
      }
    }
    return count;
  }

  /** Goes to the next one in the order of time, or the one before; from the last to the first. @param {1 | -1} by */
  go(by) {
    if (this.total === 0) return;
    const { state } = this;
    const next = this.nearest(state.event, by);
    state.goTo(next === NONE ? this.nearest(NONE, by) : next);
  }

  /** The one that comes nearest after `from`, or before it; if there is no such, the first or the last of all. */
  nearest(from, by) {
    const { model, state } = this;
    let best = NONE;
    for (const { first, count } of model.tracks) {
      const end = first + count;
      const isUpTo = (at) => this.isBefore(at, from) || (by > 0 && at === from);
      let at = by > 0 ? first : end - 1;
      if (from !== NONE) at = lowerBound(first, end, isUpTo) - (by > 0 ? 0 : 1);
      while (at >= first && at < end && !state.found[model.name[at]]) at += by;
      if (at < first || at >= end) continue;
      if (best === NONE || (by > 0 ? this.isBefore(at, best) : this.isBefore(best, at))) best = at;
    }
    return best;
  }
}

/** Whether a text has all parts, one after the other: `*` is any text, and names that differ by a number are shown with one. */
function hasParts(text, parts) {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}
