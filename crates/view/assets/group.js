// Charts that zoom, switch and answer together, and the controls of all of them.

import { element } from "./elements.js";

/** @typedef {import("./charts.js").Chart} Chart */

/** Charts that zoom, switch and answer together. */
export class Group extends EventTarget {
  /** @type {Set<Chart>} */
  #charts = new Set();
  /** The labels of the curves that are switched off. @type {Set<string>} */
  hidden = new Set();
  /** What is shown of each kind of axis, if that is not all. @type {Map<string, [number, number]>} */
  spans = new Map();
  logValues = false;
  logTime = false;
  /** The label of the curve that the others are divided by. @type {string | null} */
  baseline = null;
  /** The chart that was zoomed last: the others follow it. @type {Chart | null} */
  leader = null;
  static #count = 0;
  /** Charts with the same key and axis share the cursor. */
  key = `group-${Group.#count++}`;

  /** @param {Chart} chart */
  join(chart) {
    this.#charts.add(chart);
    this.dispatchEvent(new Event("change"));
  }

  /** @param {Chart} chart */
  leave(chart) {
    this.#charts.delete(chart);
    if (this.leader === chart) this.leader = null;
  }

  /** Labels that can be a baseline: lines that stand beside others. */
  baselines() {
    const labels = new Set();
    for (const chart of this.#charts) {
      const lines = chart.curves.filter((curve) => curve.mark === "line" && curve.colour !== null);
      if (lines.length > 1) for (const { label } of lines) labels.add(label);
    }
    return [...labels];
  }

  /** Shows this part of an axis in all charts that have it; null: all of it. @param {string} axis @param {[number, number] | null} span */
  zoom(axis, span) {
    if (span && span[1] > span[0]) this.spans.set(axis, span);
    else this.spans.delete(axis);
    this.changed();
  }

  reset() {
    this.spans.clear();
    this.changed();
  }

  /** Switches a curve off, or on again. @param {string} label */
  toggle(label) {
    if (!this.hidden.delete(label)) this.hidden.add(label);
    this.changed();
  }

  /** @param {{logValues?: boolean, logTime?: boolean, baseline?: string | null}} settings */
  set(settings) {
    Object.assign(this, settings);
    for (const chart of this.#charts) chart.reframe();
    this.changed();
  }

  changed() {
    for (const chart of this.#charts) chart.refresh();
    this.dispatchEvent(new Event("change"));
  }
}

/** The controls of a group: the whole run again, logarithmic axes, the baseline. @param {Group} group */
export function controls(group) {
  const whole = element("button", { type: "button" }, "Whole run");
  whole.addEventListener("click", () => group.reset());
  const check = (/** @type {string} */ text, /** @type {"logValues" | "logTime"} */ what) => {
    const box = element("input", { type: "checkbox" });
    box.addEventListener("change", () => group.set({ [what]: box.checked }));
    return element("label", {}, box, ` ${text}`);
  };
  const select = element("select");
  select.addEventListener("change", () => group.set({ baseline: select.value || null }));
  const base = element("label", { class: "base" }, "Show ", select);
  const follow = () => {
    whole.disabled = group.spans.size === 0;
    const labels = group.baselines();
    base.hidden = labels.length === 0;
    const options = [["", "values"], ...labels.map((label) => [label, `relative to ${label}`])];
    const same =
      options.length === select.options.length &&
      options.every(([value], at) => select.options[at].value === value);
    if (!same) {
      select.replaceChildren(
        ...options.map(([value, text]) => {
          const option = element("option", {}, text);
          option.value = value;
          return option;
        }),
      );
    }
    select.value = group.baseline ?? "";
  };
  group.addEventListener("change", follow);
  follow();
  const hint = element("span", { class: "hint" }, "Drag over a picture to zoom; double-click for all of it.");
  return element(
    "div",
    { class: "controls", role: "group", "aria-label": "All pictures" },
    whole,
    check("log values", "logValues"),
    check("log time", "logTime"),
    base,
    hint,
  );
}
