// The flame graph: what was called within what, of all or of what is selected. Calls of one name within the same are one.
import { announce, byId, fitted, oncePerFrame } from "./dom.js";
import { NONE } from "./model.js";
import { walk } from "./sums.js";
import { countText, percentText, timeText } from "./text.js";

const HIGH = 19;
const LEAST_TEXT = 26;
/** A node narrower than this is not drawn, in pixels. */
const LEAST = 0.4;

/** @typedef {{ name: number, total: number, own: number, count: number, parent: Node | null, children: Map<number, Node> }} Node */

/** @returns {Node} */
function node(name, parent) {
  return { name, total: 0, own: 0, count: 0, parent, children: new Map() };
}

/** The tree of all calls. @returns {Node} */
export function callTree(model, range, rows) {
  const root = node(NONE, null);
  /** @type {(Node | undefined)[]} by event */
  const nodes = new Array(model.count);
  const place = (event) => {
    if (nodes[event]) return nodes[event];
    const around = model.parent[event] === NONE ? root : place(model.parent[event]);
    const name = model.name[event];
    let found = around.children.get(name);
    if (!found) around.children.set(name, (found = node(name, around)));
    return (nodes[event] = found);
  };
  walk(model, range, rows, (event, total, own) => {
    const found = place(event);
    found.total += total;
    found.own += own;
    found.count++;
    if (found.parent === root) root.total += total;
  });
  return root;
}

export class Flame {
  /** @param {import("./state.js").State} state @param {import("./theme.js").Colours} colours @param {import("./search.js").Search} search */
  constructor(state, colours, search) {
    Object.assign(this, { state, model: state.model, colours, search, isStale: true, hovered: null });
    this.canvas = byId("flame-canvas");
    this.draw = oncePerFrame(() => this.paint());
    state.on("range", () => {
      this.isStale = true;
      if (!byId("panel-flame").hidden) this.refresh();
    });
    state.on("search", this.draw);
    colours.changed(this.draw);
    byId("flame-side").addEventListener("change", () => {
      this.isStale = true;
      this.refresh();
    });
    byId("flame-side").hidden = !this.model.hasDevice;
    new ResizeObserver(this.draw).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.at(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("pointerleave", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.zoomTo(this.at(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  refresh() {
    if (this.isStale) {
      this.isStale = false;
      const isDevice = byId("flame-side").value === "device";
      this.root = callTree(this.model, this.state.range, this.model.rows.filter((row) => row.is_device === isDevice));
      this.top = this.chosen = this.root;
    }
    this.say();
    this.draw();
  }

  /** The children of a node, the longest first. @param {Node} of */
  ordered(of) {
    return [...of.children.values()].sort((a, b) => b.total - a.total);
  }

  /** Places the nodes that can be seen. */
  place(width) {
    this.boxes = [];
    const path = [];
    for (let up = this.top; up; up = up.parent) path.unshift(up);
    path.forEach((one, depth) => this.boxes.push({ node: one, x: 0, width, depth }));
    const below = (of, x, scale, depth) => {
      for (const child of this.ordered(of)) {
        const wide = child.total * scale;
        if (wide < LEAST) break;
        this.boxes.push({ node: child, x, width: wide, depth });
        below(child, x, scale, depth + 1);
        x += wide;
      }
    };
    if (this.top.total > 0) below(this.top, 0, width / this.top.total, path.length);
    return this.boxes.reduce((deepest, box) => Math.max(deepest, box.depth), 0) + 1;
  }

  paint() {
    if (!this.root || byId("panel-flame").hidden) return;
    const depth = this.place(this.canvas.clientWidth);
    this.canvas.style.height = `${Math.max(depth * HIGH + 4, 60)}px`;
    const fit = fitted(this.canvas);
    if (!fit) return;
    const { context, width, height } = fit;
    const { colours, model } = this;
    const { found } = this.state;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const box of this.boxes) {
      const { name } = box.node;
      const isDimmed = found && (name === NONE || !found[name]);
      context.fillStyle = name === NONE ? colours.faint : (isDimmed ? colours.dimmed : colours.fills)[model.shades[name]];
      context.fillRect(box.x, box.depth * HIGH, Math.max(box.width - 0.75, 0.5), HIGH - 1);
      if (box.node === this.chosen || box.node === this.hovered) {
        context.strokeStyle = colours.ink;
        context.lineWidth = box.node === this.chosen ? 2 : 1;
        context.strokeRect(box.x + 0.5, box.depth * HIGH + 0.5, Math.max(box.width - 1.5, 1), HIGH - 2);
      }
      if (box.width < LEAST_TEXT) continue;
      context.fillStyle = isDimmed ? colours.muted : colours.spanInk;
      const text = this.textOf(box.node);
      const letters = Math.floor((box.width - 8) / 6.2);
      context.fillText(text.length > letters ? `${text.slice(0, Math.max(letters - 1, 1))}…` : text, box.x + 4, box.depth * HIGH + HIGH / 2, box.width - 6);
    }
  }

  textOf(of) {
    return of.name === NONE ? "all" : this.model.names[of.name];
  }

  at(x, y) {
    const depth = Math.floor(y / HIGH);
    return this.boxes.find((box) => box.depth === depth && box.x <= x && x < box.x + box.width)?.node ?? null;
  }

  hover(over) {
    if (over === this.hovered) return;
    this.hovered = over;
    this.say();
    this.draw();
  }

  say() {
    const of = this.hovered ?? this.chosen;
    const share = of.total < this.root.total ? `, ${percentText(of.total, this.root.total)} of all` : "";
    const calls = of === this.root ? "" : `, self ${timeText(of.own)}, ${countText(of.count)} times`;
    byId("flame-text").textContent = `${this.textOf(of)}: ${timeText(of.total)}${share}${calls}`;
  }

  zoomTo(to) {
    if (!to) return;
    this.top = this.chosen = to;
    this.say();
    this.draw();
  }

  key(event) {
    const { chosen } = this;
    const beside = chosen.parent ? this.ordered(chosen.parent) : [chosen];
    const place = beside.indexOf(chosen);
    const next = {
      ArrowDown: this.ordered(chosen)[0],
      ArrowUp: chosen.parent,
      ArrowRight: beside[place + 1],
      ArrowLeft: beside[place - 1],
    }[event.key];
    if (event.key === "Enter") this.zoomTo(chosen);
    else if (event.key === "Escape") this.zoomTo(this.root);
    else if (event.key === "s" && chosen !== this.root) this.search.find(this.textOf(chosen));
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (!next) return;
    this.chosen = next;
    this.hovered = null;
    this.say();
    announce(byId("flame-text").textContent);
    this.draw();
  }
}
