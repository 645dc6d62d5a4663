// What became of each name from the first trace to the second, as far as it can be told from noise: what `mtprof diff` says.
import { NameTable } from "./name_table.js";
import { shadeOf } from "./theme.js";
import { partText, signedPartText, signedText, timeText } from "./text.js";

const TONES = { slower: "worse", added: "worse", faster: "better", removed: "better", unchanged: "muted", untested: "muted" };
/** What is said of most names, and matters least. Anything else is a change. */
const NO_CHANGES = ["unchanged", "untested"];
/** The kinds of events that the kinds of keys are. */
const KINDS = { op: 0, annotation: 2, runtime: 3, device: 5 };
const FIRST_OF_DEVICE = 5;

export class Verdicts {
  /** @param {import("./state.js").State} state @param {import("./search.js").Search} search */
  constructor({ model }, search) {
    const shades = new Map(model.names.map((text, name) => [`${model.kinds[name] >= FIRST_OF_DEVICE} ${text}`, model.shades[name]]));
    const shade = ({ name, kind }) => shades.get(`${kind === "device"} ${name}`) ?? shadeOf(name, KINDS[kind]);
    this.table = new NameTable({
      id: "verdicts",
      columns: columns(),
      sortedBy: "verdict",
      nameOf: (row) => ({ text: row.name, shade: shade(row) }),
      find: (text) => search.find(text),
    });
    this.table.fill(model.contents.difference.rows);
  }
}

/** @returns {import("./name_table.js").Column[]} */
function columns() {
  const tone = (row) => TONES[row.verdict];
  const optional = (value, text) => (value === null ? "" : text(value));
  const part = (key, text) => ({ key, value: (row) => row[key] ?? -Infinity, text: (row) => optional(row[key], text) });
  return [
    {
      key: "verdict",
      title: "Verdict",
      isText: true,
      help: "Slower and faster are more than noise; untested is what is in too few steps",
      // Those that changed come first, and of these the one that matters most to the step.
      value: (row) => Math.abs(row.effect_ns) - (NO_CHANGES.indexOf(row.verdict) + 1) * 1e18,
      text: (row) => row.verdict,
      tone,
    },
    {
      key: "change",
      title: "Change",
      help: "Of its own time in a step, at equal speed of the machine",
      value: (row) => (row.change === null ? -1 : Math.abs(row.change)),
      text: (row) => optional(row.change, signedPartText),
      tone,
    },
    {
      key: "interval",
      title: "Between",
      help: "The interval of 95 % of the change",
      value: (row) => row.interval?.[0] ?? -Infinity,
      text: (row) => optional(row.interval, ([low, high]) => `${signedPartText(low).slice(0, -2)} … ${signedPartText(high)}`),
    },
    { key: "noise", title: "Noise", help: "What the change has to exceed", ...part("noise", partText) },
    { key: "p_value", title: "p", help: "The chance of such a change if nothing had changed", ...part("p_value", (value) => value.toFixed(4)) },
    { key: "a_ns", title: "Before a step", help: "Its own time in the median step", value: (row) => row.a_ns, text: (row) => timeText(row.a_ns) },
    { key: "b_ns", title: "After a step", help: "Its own time in the median step", value: (row) => row.b_ns, text: (row) => timeText(row.b_ns) },
    {
      key: "effect_ns",
      title: "Effect",
      help: "How much longer a step takes by it",
      value: (row) => Math.abs(row.effect_ns),
      text: (row) => signedText(row.effect_ns, timeText),
      tone,
    },
    { key: "share", title: "Of step", help: "The effect as a part of the step", ...part("share", signedPartText) },
    { key: "calls", title: "Calls a step", help: "If their number changed", value: (row) => row.calls?.[1] ?? -1, text: (row) => optional(row.calls, ([a, b]) => `${a} → ${b}`) },
    { key: "where", title: "On", isText: true, value: (row) => (row.is_of_device ? "device" : "host"), tone: () => "muted" },
  ];
}
