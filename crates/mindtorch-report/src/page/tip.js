// What is under the mouse, in words.
import { byId, make } from "./dom.js";
import { NONE } from "./model.js";
import { timeText } from "./text.js";

/** How far it is from the mouse, in pixels. */
const AWAY = 14;

export class Tip {
  /** @param {import("./timeline.js").Timeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    this.element = byId("tip");
    // What is under the mouse is then another.
    timeline.state.on("view", () => this.hide());
    timeline.scroller.addEventListener("scroll", () => this.hide());
  }

  /** Says what is at a place of the canvas. @param {MouseEvent} mouse */
  show(mouse) {
    const [name, text] = this.words(mouse.offsetX, mouse.offsetY) ?? [];
    this.element.hidden = name === undefined;
    if (name === undefined) return;
    this.element.replaceChildren(make("b", {}, name), ` ${text}`);
    const { width, height } = this.element.getBoundingClientRect();
    const [x, y] = [mouse.clientX + AWAY, mouse.clientY + AWAY];
    // On the other side of the mouse, where there is no room on this one.
    this.element.style.left = `${x + width > window.innerWidth ? Math.max(mouse.clientX - AWAY - width, 0) : x}px`;
    this.element.style.top = `${y + height > window.innerHeight ? mouse.clientY - AWAY - height : y}px`;
  }

  hide() {
    this.element.hidden = true;
  }

  /** A name and what there is to say, or `null`. */
  words(x, y) {
    const { timeline } = this;
    const { model } = timeline;
    const { hovered } = timeline;
    if (hovered !== NONE) return [model.nameOf(hovered), model.isMark(hovered) ? `at ${timeText(model.start[hovered])}` : timeText(model.duration[hovered])];
    const counter = timeline.counterAt(x, y);
    const place = counter ? counter.placeAt(timeline.timeAt(x)) : -1;
    return place < 0 ? null : [counter.name, `${counter.text(counter.values[place])} from ${timeText(counter.times[place])}`];
  }
}
