// Light and dark, and the colours that canvases draw with.
import { byId } from "./dom.js";

/** Hue, saturation and how far hues of one kind differ; in the order of the kinds of events. */
const KINDS = [
  [212, 58, 16], // operator
  [266, 50, 14], // backward
  [152, 40, 16], // annotation
  [42, 70, 10], // runtime call
  [215, 14, 30], // function
  [20, 72, 14], // kernel
  [330, 55, 12], // copy
  [300, 35, 12], // memory set
  [0, 62, 8], // synchronisation
  [168, 36, 12], // device annotation
  [52, 90, 14], // mark
];
const SHADES = 6;
const NAMES = ["paper", "raised", "ink", "muted", "line", "accent", "mark", "grid", "faint"];

/** @param {string} text */
export function hashOf(text) {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  return hash >>> 0;
}

/** The index of a name's colour. @param {string} text @param {number} kind */
export function shadeOf(text, kind) {
  return kind * SHADES + (hashOf(text) % SHADES);
}

/** The index of the middle colour of a kind. @param {number} kind */
export function kindShade(kind) {
  return kind * SHADES + SHADES / 2;
}

/** What to draw with. Ask `colours.changed` to be told when it is another. */
export class Colours {
  constructor() {
    /** @type {(() => void)[]} */
    this.listeners = [];
    this.chosen = stored();
    this.system = window.matchMedia("(prefers-color-scheme: dark)");
    this.system.addEventListener("change", () => this.apply());
    byId("theme").addEventListener("click", () => {
      this.chosen = this.isDark ? "light" : "dark";
      store(this.chosen);
      this.apply();
    });
    this.apply();
  }

  get isDark() {
    return this.chosen ? this.chosen === "dark" : this.system.matches;
  }

  apply() {
    document.documentElement.dataset.theme = this.isDark ? "dark" : "light";
    byId("theme").setAttribute("aria-label", this.isDark ? "Use light colours" : "Use dark colours");
    const style = getComputedStyle(document.documentElement);
    for (const name of NAMES) this[name] = style.getPropertyValue(`--${name}`).trim();
    /** Fills of spans, and the same for those that a search does not find. */
    this.fills = shades(this.isDark, 1);
    this.dimmed = shades(this.isDark, 0.25);
    this.fills.forEach((fill, shade) => document.documentElement.style.setProperty(`--shade-${shade}`, fill));
    this.spanInk = this.isDark ? "#f2f4f7" : "#16191d";
    for (const listener of this.listeners) listener();
  }

  /** @param {() => void} listener */
  changed(listener) {
    this.listeners.push(listener);
  }
}

function shades(isDark, strength) {
  // A canvas tells a colour as six digits, which it reads quicker than anything else.
  const context = document.createElement("canvas").getContext("2d");
  const digits = (colour) => {
    context.fillStyle = colour;
    return context.fillStyle;
  };
  return KINDS.flatMap(([hue, saturation, range]) =>
    Array.from({ length: SHADES }, (_, shade) => {
      const turn = (shade / (SHADES - 1) - 0.5) * 2;
      const lightness = isDark ? 37 + turn * 5 : 77 - turn * 5;
      const strong = (isDark ? 0.75 : 1.1) * saturation * strength;
      const faint = isDark ? 20 + lightness * 0.12 : 93 + lightness * 0.03;
      return digits(`hsl(${hue + turn * range} ${Math.min(strong, 90)}% ${strength < 1 ? faint : lightness}%)`);
    }),
  );
}

function stored() {
  try {
    return localStorage.getItem("mindtorch-theme");
  } catch {
    return null; // a page from a file may have nowhere to keep it
  }
}

function store(theme) {
  try {
    localStorage.setItem("mindtorch-theme", theme);
  } catch {
    // It is for this time only, then.
  }
}
