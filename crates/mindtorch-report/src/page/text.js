// Numbers as people read them.

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const BYTES = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

/**
 * @param {number} value
 * @param {[number, string][]} units the largest first
 */
function inUnits(value, units) {
  const size = Math.abs(value);
  const [unit, name] = units.find(([least]) => size >= least) ?? units[units.length - 1];
  const scaled = value / unit;
  const digits = unit === 1 ? 0 : Math.abs(scaled) < 10 ? 3 : Math.abs(scaled) < 100 ? 2 : 1;
  return `${scaled.toFixed(digits)} ${name}`;
}

/** @param {number} ns */
export function timeText(ns) {
  return ns === 0 ? "0" : inUnits(ns, TIMES);
}

/** @param {number} bytes */
export function bytesText(bytes) {
  return bytes === 0 ? "0" : inUnits(bytes, BYTES);
}

/** @param {number} count */
export function countText(count) {
  return count.toLocaleString("en");
}

/** @param {number} value whatever it counts */
export function numberText(value) {
  return Number.isInteger(value) ? countText(value) : String(Number(value.toPrecision(6)));
}

/** @param {number} part @param {number} whole */
export function percentText(part, whole) {
  return whole > 0 ? partText(part / whole) : "";
}

/** A change with its sign. @param {number} change @param {(size: number) => string} text */
export function signedText(change, text) {
  return change === 0 ? "0" : `${change > 0 ? "+" : "−"}${text(Math.abs(change))}`;
}

/** @param {number} part of 1 */
export function partText(part) {
  return `${(100 * part).toFixed(1)} %`;
}

/** A part with its sign, as `mtprof diff` writes it, but for the minus. @param {number} part of 1 */
export function signedPartText(part) {
  return `${part < 0 ? "−" : "+"}${partText(Math.abs(part))}`;
}

/** A tick of the ruler: as many digits as the distance of ticks needs. @param {number} ns @param {number} distance */
export function tickText(ns, distance) {
  if (ns === 0) return "0";
  const [unit, name] = TIMES.find(([least]) => Math.abs(ns) >= least) ?? TIMES[3];
  const digits = Math.max(0, Math.ceil(Math.log10(unit / distance) - 1e-9));
  return `${(ns / unit).toFixed(Math.min(digits, 9))} ${name}`;
}
