// Elements. Texts go in as text, never as HTML: names of a trace may be anything.

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/**
 * An element with attributes, listeners (`onclick: f`) and children.
 * @param {string} tag
 * @param {Record<string, any>} [attributes] those that are `false` or `null` are left out
 * @param {...(Node | string | number | null | false)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === false || child === undefined) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
  return element;
}

/** Says something to those who do not see it. @param {string} text */
export function announce(text) {
  byId("announcement").textContent = text;
}

/**
 * A canvas as large as its element, in the screen's pixels; `null` if it is not shown.
 * @param {HTMLCanvasElement} canvas
 */
export function fitted(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  if (!width || !height) return null;
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext("2d", { alpha: false });
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, height };
}

/** Calls `draw` once before the next frame, however often it is asked. @param {() => void} draw */
export function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
