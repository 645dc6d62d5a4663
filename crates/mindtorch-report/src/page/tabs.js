// Tabs, one of whose panels is shown.
import { byId } from "./dom.js";

export class Tabs {
  /**
   * @param {string} list the id of the element with the tabs, each of which controls a panel
   * @param {(panel: string) => void} shown is told the id of the panel that is now to be seen
   */
  constructor(list, shown) {
    this.shown = shown;
    this.tabs = [...byId(list).querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.show(tab.getAttribute("aria-controls")));
      tab.addEventListener("keydown", (event) => this.key(event, tab));
    }
  }

  /** @param {string} panel */
  show(panel) {
    for (const tab of this.tabs) {
      const own = tab.getAttribute("aria-controls");
      const isShown = own === panel;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      byId(own).hidden = !isShown;
    }
    this.shown(panel);
  }

  key(event, tab) {
    const there = this.tabs.filter((other) => !other.hidden);
    const at = there.indexOf(tab);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: there.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const other = there[(next + there.length) % there.length];
    other.focus();
    this.show(other.getAttribute("aria-controls"));
  }
}
