// The memory timeline: stacked areas of what was allocated, and the blocks that lived at the peak.
//
// Times are nanoseconds from the start of the recording, sizes are bytes; a size holds from its time to the next one.
// What the data says reaches the document as text, never as markup: names are whatever a program called things.

const byId = (id) => document.getElementById(id);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function swatch(category) {
  const made = make("span", { class: "swatch" });
  made.style.background = `var(--category-${category})`;
  return made;
}

const BYTE_UNITS = ["TiB", "GiB", "MiB", "KiB"].map((name, at) => ({ name, size: 1024 ** (4 - at) }));
const TIME_UNITS = [{ name: "s", size: 1e9 }, { name: "ms", size: 1e6 }, { name: "µs", size: 1e3 }];

const byteUnit = (bytes) => BYTE_UNITS.find(({ size }) => bytes >= size) ?? { name: "bytes", size: 1 };
const timeUnit = (time) => TIME_UNITS.find(({ size }) => time >= size) ?? { name: "ns", size: 1 };
const grouped = (count) => count.toLocaleString("en");
const exactBytes = (bytes) => `${grouped(bytes)} bytes`;
const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

function bytesText(bytes) {
  const unit = byteUnit(bytes);
  const value = bytes / unit.size;
  return `${unit.size === 1 ? value : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit.name}`;
}

/** A time with the decimals that make a difference of `resolution` visible. */
function timeText(time, resolution = time / 1000, unit = timeUnit(time)) {
  const decimals = Math.ceil(Math.log10(unit.size / Math.max(resolution, 1)) - 1e-9);
  return `${(time / unit.size).toFixed(clamp(decimals, 0, 9))} ${unit.name}`;
}

function shareText(part, whole) {
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  if (percent > 99.9 && percent < 100) return "> 99.9 %";
  return `${percent.toFixed(1)} %`;
}

/** Round numbers (1, 2 or 5 times a power of ten, in units of `unit`) from `low` to `high`, about `most` at most. */
function ticks(low, high, most, unit) {
  const rough = Math.max((high - low) / most, 1) / unit;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = unit * power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const values = [];
  for (let count = Math.ceil(low / step); count * step <= high; count++) values.push(count * step);
  return { values, step };
}

