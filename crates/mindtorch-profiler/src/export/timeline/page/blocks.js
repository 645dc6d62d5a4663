/** The table of the blocks that lived at the peak: each alone, or those of an operator or of a stack together. */
class Blocks {
  static FIRST_ROWS = 50;

  #grouping = "block";
  #sorting = { label: "Bytes", descending: true };
  #all = false;

  constructor({ categories, peak }) {
    Object.assign(this, { categories, peak });
    this.blocks = peak.blocks.map((block) => {
      const operator = block.operator || (block.allocated_ns === null ? "(not recorded)" : "(outside any operator)");
      const text = [block.address, categories[block.category], operator, ...block.stack].join("\n").toLowerCase();
      return { ...block, operator, text, frames: block.stack.join("\n") };
    });
    this.#listen();
    this.#sayWhatIsMissing();
    this.#show();
  }

  #columns() {
    const share = (row) => shareText(row.bytes, this.peak.bytes);
    const kinds = (row) => row.kinds.map((kind) => this.categories[kind]);
    const kindCell = (row) => make("span", {}, ...row.kinds.map(swatch), listed(kinds(row)));
    const age = ([{ allocated_ns: allocated }]) => (allocated === null ? Infinity : this.peak.at_ns - allocated);
    const ageText = (blocks) => (age(blocks) === Infinity ? "before the recording" : timeText(age(blocks)));
    const count = (row) => row.blocks.length;
    const alone = this.#grouping === "block";
    return [
      { label: "Bytes", kind: "number", key: (row) => row.bytes, cell: (row) => bytesText(row.bytes) },
      { label: "Share", kind: "number", key: (row) => row.bytes, cell: share },
      !alone && { label: "Blocks", kind: "number", key: count, cell: (row) => grouped(count(row)) },
      { label: "Category", kind: "category", key: (row) => kinds(row).join(), cell: kindCell },
      { label: "Operator", kind: "text", key: (row) => row.operators.join(), cell: (row) => listed(row.operators) },
      alone && { label: "Age", kind: "number", key: (row) => age(row.blocks), cell: (row) => ageText(row.blocks) },
      { label: "Allocated where", kind: "text", key: (row) => this.#whereText(row), cell: (row) => this.#where(row) },
    ].filter(Boolean);
  }

  #rows(chosen) {
    const keyOf = { block: (_, at) => at, operator: (block) => block.operator, stack: (block) => block.frames };
    const groups = new Map();
    chosen.forEach((block, at) => {
      const key = keyOf[this.#grouping](block, at);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(block);
    });
    return Array.from(groups.values(), (blocks) => ({
      blocks,
      bytes: bytesOf(blocks),
      kinds: distinct(blocks, (block) => block.category),
      operators: distinct(blocks, (block) => block.operator),
      stacks: distinct(blocks, (block) => block.frames),
    }));
  }

  #show() {
    const columns = this.#columns();
    const sorted = columns.find(({ label }) => label === this.#sorting.label) ?? columns[0];
    const wanted = byId("search").value.trim().toLowerCase();
    const chosen = this.blocks.filter(({ text }) => text.includes(wanted));
    const rows = this.#rows(chosen).sort(this.#order(sorted));
    const table = byId("block-table");
    table.tHead.rows[0].replaceChildren(...columns.map((column) => this.#heading(column, column === sorted)));
    table.tBodies[0].replaceChildren(...rows.slice(0, this.#all ? rows.length : Blocks.FIRST_ROWS).map((row) =>
      make("tr", {}, ...columns.map(({ kind, cell }) => make("td", { class: kind }, cell(row))))));
    const bytes = bytesOf(chosen);
    const count = `${wanted ? `${grouped(chosen.length)} of ` : ""}${counted(this.blocks.length, "block")}`;
    byId("matches").textContent = `${count}, ${bytesText(bytes)}, ${shareText(bytes, this.peak.bytes)} of the peak`;
    byId("show-all").hidden = this.#all || rows.length <= Blocks.FIRST_ROWS;
    byId("show-all").textContent = `Show all ${grouped(rows.length)} rows`;
  }

  /** By a column's key, and rows that are equal in it by their bytes. */
  #order({ key }) {
    const sign = this.#sorting.descending ? -1 : 1;
    return (one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === b) return other.bytes - one.bytes;
      return sign * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a < b ? -1 : 1);
    };
  }

  #heading({ label, kind }, sorted) {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      this.#sorting = { label, descending: sorted ? !this.#sorting.descending : kind === "number" };
      this.#show();
      // The headings are new ones; the keyboard stays where it was.
      [...byId("block-table").tHead.querySelectorAll("button")].find((other) => other.textContent === label).focus();
    });
    const order = sorted ? (this.#sorting.descending ? "descending" : "ascending") : "none";
    return make("th", { scope: "col", "aria-sort": order, class: kind }, button);
  }

  #whereText({ stacks }) {
    return stacks.length > 1 ? counted(stacks.length, "stack") : stacks[0].split("\n")[0] || "no stack was recorded";
  }

  #where(row) {
    const button = make("button", { type: "button", class: "where", "aria-expanded": "false" }, this.#whereText(row));
    button.addEventListener("click", () => {
      const line = button.closest("tr");
      const open = button.getAttribute("aria-expanded") === "false";
      button.setAttribute("aria-expanded", String(open));
      if (!open) line.nextSibling.remove();
      else line.after(make("tr", { class: "detail" }, make("td", { colspan: line.cells.length }, ...details(row))));
    });
    return button;
  }

  #sayWhatIsMissing() {
    const { bytes: peak, blocks_left_out: { count, bytes } } = this.peak;
    const known = bytesOf(this.blocks) + bytes;
    const share = shareText(bytes, peak);
    const left = `Not listed: ${counted(count, "smaller block")} with ${bytesText(bytes)}, ${share} of the peak.`;
    const differs = `The blocks add up to ${exactBytes(known)}; the peak is ${exactBytes(peak)}.`;
    byId("left-out").textContent = [count > 0 && left, known !== peak && differs].filter(Boolean).join(" ");
    byId("left-out").hidden = byId("left-out").textContent === "";
  }

  #listen() {
    const buttons = [...byId("groupings").children];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        this.#grouping = button.dataset.grouping;
        this.#all = false;
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        this.#show();
      });
    }
    byId("search").addEventListener("input", () => this.#show());
    byId("show-all").addEventListener("click", () => {
      this.#all = true;
      this.#show();
    });
  }
}

const bytesOf = (blocks) => blocks.reduce((sum, { bytes }) => sum + bytes, 0);
const listed = (names) => names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");

/** The values that blocks have, those with the most bytes first. */
function distinct(blocks, valueOf) {
  const sums = new Map();
  for (const block of blocks) sums.set(valueOf(block), (sums.get(valueOf(block)) ?? 0) + block.bytes);
  return [...sums].sort((one, other) => other[1] - one[1]).map(([value]) => value);
}

const MOST_STACKS = 8;

/** A row at length: the life of a block, or what a group has from each stack, and the frames, innermost first. */
function details({ blocks, stacks }) {
  const summary = (some) => `${bytesText(bytesOf(some))} in ${counted(some.length, "block")}`;
  const parts = stacks.slice(0, MOST_STACKS).flatMap((frames) => {
    const here = blocks.filter((block) => block.frames === frames);
    const lines = frames.split("\n").filter(Boolean).map((frame) => make("li", {}, frame));
    const stack = lines.length > 0 ? make("ol", {}, ...lines) : make("p", {}, "No stack was recorded.");
    return [make("p", {}, blocks.length > 1 ? summary(here) : lifeOf(here[0])), stack];
  });
  const rest = new Set(stacks.slice(MOST_STACKS));
  if (rest.size === 0) return parts;
  const others = blocks.filter((block) => rest.has(block.frames));
  return [...parts, make("p", {}, `${summary(others)} of ${counted(rest.size, "other stack")}`)];
}

function lifeOf({ address, bytes, allocated_ns: allocated, freed_ns: freed }) {
  const born = allocated === null ? "allocated before the recording" : `allocated at ${timeText(allocated)}`;
  const died = freed === null ? "alive at the end" : `freed at ${timeText(freed)}`;
  // Blocks of which nothing is known are told as one, which has no address.
  const place = Number(address) === 0 ? "" : ` at ${address}`;
  return `${exactBytes(bytes)}${place}, ${born}, ${died}`;
}

