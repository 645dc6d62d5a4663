// Reads what the page holds: contents, which are JSON, and columns of numbers.
import { byId } from "./dom.js";

/** @param {string} text base64 */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

/** @param {HTMLElement} element whose text is of no use afterwards, and goes */
async function inflated(element) {
  const deflated = bytesOf(element.textContent.trim());
  element.textContent = "";
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function readContents() {
  return JSON.parse(new TextDecoder().decode(await inflated(byId("contents"))));
}

/**
 * A column, in the narrowest array that holds its numbers exactly.
 * @param {string} name
 * @returns {Promise<Uint8Array | Uint16Array | Uint32Array | Float64Array>}
 */
export async function readColumn(name) {
  const element = byId(`column-${name}`);
  const count = Number(element.dataset.count);
  const planes = Number(element.dataset.planes);
  if (planes === 0) return new Uint8Array(count);
  return joinedPlanes(await inflated(element), count, planes);
}

/** @param {Uint8Array} bytes @param {number} count @param {number} planes */
export function joinedPlanes(bytes, count, planes) {
  if (bytes.length !== count * planes) throw new Error(`a column has ${bytes.length} bytes and not ${count * planes}`);
  if (planes === 1) return bytes;
  const numbers = planes === 2 ? new Uint16Array(count) : planes <= 4 ? new Uint32Array(count) : new Float64Array(count);
  // Plane by plane: each is read once, from its beginning to its end.
  for (let plane = 0, unit = 1; plane < planes; plane++, unit *= 256) {
    const base = plane * count;
    for (let at = 0; at < count; at++) numbers[at] += bytes[base + at] * unit;
  }
  return numbers;
}

/** The number that was written so that small ones of either sign are small. @param {number} written */
export function fromZigzag(written) {
  return written % 2 === 0 ? written / 2 : -(written + 1) / 2;
}

/** Where the first number that is not below `at` is, in an array that rises. */
export function lowerBound(from, to, isBelow) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isBelow(middle)) from = middle + 1;
    else to = middle;
  }
  return from;
}
