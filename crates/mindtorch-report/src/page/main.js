// Begins: reads the data, makes the parts, shows them.
import { readContents } from "./data.js";
import { Details } from "./details.js";
import { Diff } from "./diff.js";
import { byId, make } from "./dom.js";
import { Findings } from "./findings.js";
import { Flame } from "./flame.js";
import { Memory } from "./memory.js";
import { Model } from "./model.js";
import { Overview } from "./overview.js";
import { Search } from "./search.js";
import { State } from "./state.js";
import { Steps } from "./steps.js";
import { Table } from "./table.js";
import { Tabs } from "./tabs.js";
import { countText, timeText } from "./text.js";
import { Colours, kindShade } from "./theme.js";
import { Timeline } from "./timeline.js";

function showFacts(model) {
  const { contents } = model;
  byId("title").textContent = contents.title;
  byId("title").title = contents.title;
  const [first] = contents.processes;
  const began = first ? new Date(Number(BigInt(first.start_epoch_ns) / 1000000n)) : null;
  const lost = contents.processes.reduce((lost, process) => lost + process.lost_events, 0);
  const facts = [
    `${countText(model.count)} events`,
    timeText(model.duration_ns),
    began > 0 && began.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }),
    lost > 0 && `${countText(lost)} events were lost while recording`,
  ].filter(Boolean);
  byId("facts").textContent = facts.join(" · ");
  const kinds = [...new Set(model.kinds)].sort((a, b) => a - b);
  byId("legend").replaceChildren(...kinds.map((kind) =>
    make("span", {}, make("i", { class: "swatch", style: `background:var(--shade-${kindShade(kind)})` }), contents.kinds[kind])));
}

/** Keys that work everywhere but in fields. Those of the timeline work as long as nothing else has the focus. */
function globalKeys(event, timeline) {
  if (event.target === document.body) timeline.gestures.key(event);
  if (event.target.closest("input, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = { "/": () => byId("search").focus(), "?": () => byId("help").showModal() };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

/** Lets the border between the timeline and what is below it be moved. */
function movableBorder() {
  const border = byId("border");
  const main = byId("main");
  const set = (share) => {
    const bounded = Math.min(Math.max(share, 0.15), 0.85);
    main.style.setProperty("--share", String(bounded));
    border.setAttribute("aria-valuenow", String(Math.round(bounded * 100)));
  };
  border.addEventListener("pointerdown", (event) => border.setPointerCapture(event.pointerId));
  border.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1) return;
    const { top, height } = main.getBoundingClientRect();
    set((event.clientY - top) / height);
  });
  border.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -0.05, ArrowDown: 0.05 }[event.key];
    if (!by) return;
    event.preventDefault();
    set(Number(border.getAttribute("aria-valuenow")) / 100 + by);
  });
}

/** The parts below the timeline that there is anything to show in, by the ids of their panels. */
function panelsOf(state, colours, search) {
  const { contents } = state.model;
  const parts = { "panel-findings": null, "panel-table": new Table(state, search), "panel-flame": new Flame(state, colours, search) };
  if (contents.memory.length > 0) parts["panel-memory"] = new Memory(state, colours);
  if (contents.steps.length > 0) parts["panel-steps"] = new Steps(state, colours);
  if (contents.difference) parts["panel-diff"] = new Diff(state, search);
  return parts;
}

async function begin() {
  const colours = new Colours();
  const model = await Model.read(await readContents());
  showFacts(model);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  movableBorder();
  const state = new State(model);
  const timeline = new Timeline(state, colours);
  document.addEventListener("keydown", (event) => globalKeys(event, timeline));
  new Overview(state, colours);
  new Details(state);
  const search = new Search(state);
  const parts = panelsOf(state, colours, search);
  const tabs = new Tabs("tabs", (panel) => parts[panel]?.refresh());
  for (const tab of tabs.tabs) tab.hidden = !(tab.getAttribute("aria-controls") in parts);
  new Findings(state, (finding) => {
    tabs.show("panel-memory");
    parts["panel-memory"].show(finding);
  });
  tabs.show(model.contents.difference ? "panel-diff" : "panel-findings");
  timeline.paint();
  // For tests, which cannot read a picture. The page's only global.
  window.mindtorchReport = Object.freeze({ model, state, timeline, search, parts, drawnAt: performance.now() });
  document.documentElement.dataset.ready = "";
}

begin().catch((error) => {
  byId("notice").textContent = `This page cannot be shown: ${error.message}`;
  byId("notice").hidden = false;
  throw error;
});
