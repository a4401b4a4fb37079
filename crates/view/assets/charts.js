// Charts that answer: values under the pointer, a common zoom, curves switched on and off, logarithmic axes,
// everything relative to one curve, and the numbers behind a picture as a table and as CSV.
//
// uPlot draws the frame: axes, ticks, the cursor, the rectangle that is dragged. The curves are painted here,
// because each has times of its own: a segment and its acknowledgement share none. Only what is visible is
// painted, and not more of it than there are pixels.
//
// Labels are text and never markup. There is no eval and no inline style, so a strict content security policy
// allows this module.

import { copied, csv, element, exact, measured, tidy } from "./elements.js";
import { curves, extremes, first } from "./curves.js";
import { Group } from "./group.js";
import { Marks, paintBand, paintLine, paintValues, scaled } from "./painting.js";

export { Group, controls } from "./group.js";

/**
 * @typedef {import("./curves.js").ChartData} ChartData
 * @typedef {import("./curves.js").Curve} Curve
 *
 * @typedef {object} Options
 * @property {Group} [group]  charts of a group zoom and switch together
 * @property {number} [height]  of the plot, pixels
 */

/** @type {typeof import("uplot")} */
const Frame = /** @type {any} */ (globalThis).uPlot;

const PALETTE = 8;
const LETTERS =
  '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif';
/** A curve answers for a place if it has a point within so many pixels. */
const NEAR = 12;
/**
 * So long after the beginning of a frame another picture may still be drawn in it, ms. The browser then takes
 * several times as long to bring what was drawn to the screen, and has 16.7 ms for all.
 */
const ROOM = 2.5;
/** The most frames that a picture waits for room. */
const MISSED = 3;
/** The most rows of the table behind a picture. */
const MAX_ROWS = 200;

const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
const paper = globalThis.matchMedia?.("print");

export class Chart {
  /** @type {import("uplot") | null} */
  #frame = null;
  #due = 0;
  #seen = true;
  #dirty = false;
  #colours = new Map();
  #marks = new Marks();

  /** @param {HTMLElement} figure @param {ChartData} data @param {Options} options */
  constructor(figure, data, { group = new Group(), height } = {}) {
    this.figure = figure;
    this.group = group;
    this.data = data;
    this.height = height;
    this.curves = curves(data);
    this.shown = this.curves;
    this.heading = element("figcaption", { class: "heading" });
    this.legend = element("div", { class: "legend", role: "group", "aria-label": "Curves" });
    this.place = element("span", { class: "place" });
    this.plot = element("div", { class: "plot", tabindex: "0", role: "group" });
    this.said = element("div", { class: "said", role: "status" });
    this.numbers = this.#table();
    this.root = element(
      "div",
      { class: "chart" },
      element("div", { class: "top" }, this.heading, this.legend, this.place),
      this.plot,
      this.said,
      this.numbers,
    );
    figure.append(this.root);
    figure.classList.add("live");
    /** @type {HTMLElement[]} */
    this.beads = [];
    /** @type {HTMLElement[]} */
    this.readings = [];
    this.plot.addEventListener("keydown", (event) => this.#key(event));
    this.plot.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.recolour = () => {
      this.#colours.clear();
      // Paper waits for no frame, and shows what is out of sight, too.
      if (paper?.matches) this.#draw();
      else this.refresh();
    };
    dark?.addEventListener("change", this.recolour);
    paper?.addEventListener("change", this.recolour);
    this.size = new ResizeObserver(() => this.#resize());
    this.size.observe(this.plot);
    this.sight = new IntersectionObserver(
      ([entry]) => {
        this.#seen = entry.isIntersecting;
        if (this.#seen && this.#dirty) this.refresh();
      },
      { rootMargin: "200px" },
    );
    this.sight.observe(this.root);
    this.#describe();
    group.join(this);
    this.reframe();
  }

  /** Draws other data in the same place. @param {ChartData} data */
  update(data) {
    const axes = (/** @type {ChartData} */ it) => JSON.stringify([it.x.label, it.x.log, it.x.ticks, it.unit]);
    const same = axes(data) === axes(this.data);
    const labels = (/** @type {ChartData} */ it) =>
      JSON.stringify([it.title, it.unit, it.curves.map(({ label, colour }) => [label, colour])]);
    const named = labels(data) === labels(this.data);
    this.data = data;
    this.curves = curves(data);
    if (!named) this.#describe();
    if (same && named && this.#frame) this.refresh();
    else this.reframe();
  }

  destroy() {
    cancelAnimationFrame(this.#due);
    this.group.leave(this);
    this.size.disconnect();
    this.sight.disconnect();
    dark?.removeEventListener("change", this.recolour);
    paper?.removeEventListener("change", this.recolour);
    this.#frame?.destroy();
    this.root.remove();
    this.figure.classList.remove("live");
  }

  /** Draws again before the next frame, if it can be seen. */
  refresh() {
    this.#dirty = true;
    if (this.#due || !this.#seen) return;
    let waited = 0;
    const turn = (/** @type {number} */ begun) => {
      // The picture that is being zoomed keeps up with the screen; those that follow it may miss some frames.
      if (waited < MISSED && this.group.leader !== this && performance.now() - begun > ROOM) {
        waited += 1;
        this.#due = requestAnimationFrame(turn);
        return;
      }
      this.#draw();
      this.#due = 0;
      if (this.#frame) this.#answer(this.#frame);
    };
    this.#due = requestAnimationFrame(turn);
  }

  /** The kind of axis: charts with the same one zoom together. */
  get axis() {
    return this.data.x.label;
  }

  /** True if the horizontal axis is time, and not the values of a sweep. */
  get timed() {
    return !this.data.x.ticks;
  }

  get logX() {
    return this.data.x.log || (this.timed && this.group.logTime);
  }

  // --- Words ---

  /** Title, legend, and what a screen reader says. */
  #describe() {
    const { title, unit } = this.data;
    const base = this.#base();
    const shown = base ? `relative to ${base.label}` : unit;
    this.heading.textContent = shown ? `${title} (${shown})` : title;
    const names = this.curves.map(({ label }) => label).join(", ");
    this.plot.setAttribute(
      "aria-label",
      `${this.heading.textContent}: ${names}. Arrow keys move along the curves, ` +
        "plus and minus zoom, zero shows all. The numbers are in the table below.",
    );
    this.readings = [];
    this.legend.replaceChildren(
      ...this.curves.map((curve) => {
        const value = element("span", { class: "value" });
        this.readings.push(value);
        const swatch = element("span", {
          class: `swatch mark-${curve.mark} ${colourClass(curve.colour)}`,
          "aria-hidden": "true",
        });
        const name = element("span", { class: "name" }, curve.label);
        if (this.curves.length === 1) return element("span", { class: "entry" }, value);
        const entry = element(
          "button",
          { type: "button", class: "entry", "aria-pressed": "true" },
          swatch,
          name,
          value,
        );
        entry.title = "Switch on or off in all pictures; with Alt, leave only this one";
        entry.addEventListener("click", (event) =>
          event.altKey ? this.#only(curve.label) : this.group.toggle(curve.label),
        );
        return entry;
      }),
    );
  }

  /** Leaves only this curve, or all if it is alone already. @param {string} label */
  #only(label) {
    const others = this.curves.map((curve) => curve.label).filter((other) => other !== label);
    const alone = others.every((other) => this.group.hidden.has(other));
    for (const other of others) {
      if (alone) this.group.hidden.delete(other);
      else this.group.hidden.add(other);
    }
    this.group.hidden.delete(label);
    this.group.changed();
  }

  /** The curve that the others are divided by. */
  #base() {
    if (this.group.baseline === null || this.curves.length < 2) return null;
    return this.curves.find(({ label, mark }) => label === this.group.baseline && mark === "line") ?? null;
  }

  // --- The frame ---

  /** Makes the frame anew: its axes have become others. */
  reframe() {
    this.#describe();
    this.#frame?.destroy();
    this.#frame = null;
    this.#resize();
  }

  #resize() {
    const width = Math.floor(this.plot.clientWidth);
    if (width < 50) return;
    const height = this.height ?? (this.data.small ? 170 : 240);
    if (this.#frame) {
      this.#frame.setSize({ width, height });
      return;
    }
    this.#prepare();
    this.#frame = new Frame(this.#options(width, height), this.#stand(), this.plot);
    const canvas = this.plot.querySelector("canvas");
    canvas?.setAttribute("aria-hidden", "true");
    this.beads = this.curves.map((curve) => {
      const bead = element("div", { class: `bead ${colourClass(curve.colour)}`, hidden: "" });
      this.#frame?.over.append(bead);
      return bead;
    });
    this.#mirror();
  }

  /** @param {number} width @param {number} height @returns {import("uplot").Options} */
  #options(width, height) {
    const { x } = this.data;
    const stroke = (/** @type {string} */ name) => () => this.#colour(name);
    const ticks = x.ticks;
    /** @type {import("uplot").Axis} */
    const across = {
      stroke: stroke("--muted"),
      font: LETTERS,
      labelFont: LETTERS,
      label: x.label,
      labelSize: 20,
      labelGap: 0,
      size: 28,
      gap: 3,
      grid: { show: false },
      ticks: { stroke: stroke("--line"), width: 1, size: 4 },
      values: (_, splits) => splits.map((at) => (at === null ? "" : tidy(at))),
      space: 70,
    };
    if (ticks) {
      across.splits = () => this.#roomy(ticks).map(([at]) => at);
      across.values = () => this.#roomy(ticks).map(([, text]) => text);
      across.filter = (_, splits) => splits;
    }
    /** @type {import("uplot").Axis} */
    const up = {
      stroke: stroke("--muted"),
      font: LETTERS,
      size: (_, values) =>
        Math.max(62, 14 + 7 * Math.max(...(values ?? [""]).map((text) => String(text).length))),
      gap: 4,
      space: this.data.small ? 26 : 34,
      grid: { stroke: stroke("--grid"), width: 1 },
      ticks: { show: false },
      values: (_, splits) => splits.map((at) => (at === null ? "" : tidy(at))),
    };
    return {
      width,
      height,
      padding: [6, ticks ? 28 : 14, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, distr: this.logX ? 3 : 1, range: () => this.#across() },
        y: { distr: this.group.logValues ? 3 : 1, range: () => this.#up() },
      },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [across, up],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 5 },
        sync: { key: `${this.group.key}:${this.axis}`, scales: ["x", null], setSeries: false },
        bind: {
          dblclick: () => () => {
            this.#zoom(null);
            return null;
          },
        },
      },
      hooks: {
        drawClear: [(frame) => this.#shade(frame)],
        draw: [(frame) => this.#paint(frame)],
        setCursor: [(frame) => this.#answer(frame)],
        setSelect: [
          (frame) => {
            const { left, width } = frame.select;
            if (width > 4) this.#zoom([frame.posToVal(left, "x"), frame.posToVal(left + width, "x")]);
            frame.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    };
  }

  /** The ticks of a sweep that have room. @param {[number, string][]} ticks @returns {[number, string][]} */
  #roomy(ticks) {
    const frame = this.#frame;
    const [from, to] = this.#across();
    const width = Math.max(this.plot.clientWidth - 80, 100);
    const pixel = (/** @type {number} */ at) =>
      width * (this.logX ? Math.log(at / from) / Math.log(to / from) : (at - from) / (to - from));
    let free = -Infinity;
    return ticks.filter(([at, text]) => {
      const half = 3.4 * text.length + 5;
      if (frame === undefined || at < from || at > to || pixel(at) - half < free) return false;
      free = pixel(at) + half;
      return true;
    });
  }

  /** Any data with the ends of the axes: the curves are painted by this module. @returns {import("uplot").AlignedData} */
  #stand() {
    return [this.#across(), this.#up()];
  }

  /** What is shown of the horizontal axis. @returns {[number, number]} */
  #across() {
    const { from, to } = this.data.x;
    let [low, high] = this.group.spans.get(this.axis) ?? [from, to];
    if (high <= from || low >= to) [low, high] = [from, to]; // a picture of another part of the run
    if (!this.logX || low > 0) return [low, high];
    // The earliest that anything has: zero has no place on a logarithmic axis.
    let least = Infinity;
    for (const { xs } of this.curves) {
      const at = first(xs, Number.MIN_VALUE);
      if (at < xs.length) least = Math.min(least, xs[at]);
    }
    return [Math.min(least, high / 10), high];
  }

  /** What is shown of the vertical axis: what the visible part of the curves needs. @returns {[number, number]} */
  #up() {
    const [from, to] = this.#across();
    let [low, high] = [Infinity, -Infinity];
    const log = this.group.logValues;
    const count = (
      /** @type {Float64Array} */ xs,
      /** @type {(Float32Array | Float64Array)[]} */ all,
      reach = 0,
    ) => {
      const [begin, end] = [first(xs, from), Math.min(first(xs, to) + 1, xs.length)];
      for (const ys of all) {
        const [least, most] = extremes(ys, begin, end, log ? 0 : -Infinity);
        [low, high] = [Math.min(low, least), Math.max(high, most + reach)];
      }
    };
    for (const { label, xs, ys, reach, band } of this.shown) {
      if (this.group.hidden.has(label)) continue;
      count(xs, [ys], reach);
      if (band) count(band.xs, [band.low, band.high]);
    }
    if (log)
      return high > 0 && low < Infinity
        ? [low === high ? low / 2 : low / 1.1, low === high ? high * 2 : high * 1.1]
        : [0.1, 1];
    if (!(high >= low)) return [0, 1];
    const room = (high - low) * 0.05;
    const zoomed = this.group.spans.has(this.axis);
    if (this.data.afloat && (zoomed || low > high / 2) && high > low) return [low - room, high + room];
    if (low === 0 && high === 0) return [0, 1];
    return [Math.min(low * 1.05, 0), Math.max(high * 1.05, 0)];
  }

  // --- Drawing ---

  /** The curves as they are shown: as they are, or relative to the baseline. */
  #prepare() {
    const base = this.#base();
    this.shown = base ? this.curves.map((curve) => curve.relative(base)) : this.curves;
  }

  #draw() {
    this.#dirty = false;
    const frame = this.#frame;
    if (!frame) return;
    this.#prepare();
    frame.batch(() => frame.setData(this.#stand())); // which draws at once
    this.#mirror();
  }

  /** Legend and table say what is shown. */
  #mirror() {
    this.curves.forEach((curve, number) => {
      const entry = this.legend.children[number];
      const on = String(!this.group.hidden.has(curve.label));
      if (entry?.hasAttribute("aria-pressed") && entry.getAttribute("aria-pressed") !== on)
        entry.setAttribute("aria-pressed", on);
    });
    if (this.numbers.open) this.#fill();
  }

  /** A colour of the page. @param {string} name */
  #colour(name) {
    if (!this.#colours.has(name)) {
      this.#colours.set(name, getComputedStyle(this.root).getPropertyValue(name).trim() || "#888");
    }
    return this.#colours.get(name);
  }

  /** @param {Curve} curve */
  #ink(curve) {
    return this.#colour(curve.colour === null ? "--muted" : `--c${curve.colour % PALETTE}`);
  }

  /** The time over which averages are taken. @param {import("uplot")} frame */
  #shade(frame) {
    const { window } = this.data.x;
    if (!window) return;
    const { left, top, width, height } = frame.bbox;
    const edge = (/** @type {number} */ at) =>
      Math.min(Math.max(frame.valToPos(Math.max(at, this.#across()[0]), "x", true), left), left + width);
    frame.ctx.fillStyle = this.#colour("--shade");
    frame.ctx.fillRect(edge(window[0]), top, edge(window[1]) - edge(window[0]), height);
  }

  /** @param {import("uplot")} frame */
  #paint(frame) {
    const { ctx, bbox } = frame;
    const ratio = devicePixelRatio || 1;
    const { min = 0, max = 1 } = /** @type {{min?: number, max?: number}} */ (frame.scales.y);
    const scale = scaled(
      bbox,
      { log: this.logX, ends: this.#across() },
      { log: this.group.logValues, ends: [min, max] },
    );
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineJoin = "round";
    const all = this.shown.filter(({ label }) => !this.group.hidden.has(label));
    all.forEach((curve, number) => {
      ctx.fillStyle = ctx.strokeStyle = this.#ink(curve);
      if (curve.band) paintBand(ctx, curve.band, scale);
      if (curve.mark !== "line") {
        this.#marks.paint(ctx, curve, scale, bbox, ratio);
        return;
      }
      // The first curves are slightly thicker, so that they are visible below others with the same values.
      const above = Math.min(all.length - number - 1, 4);
      ctx.lineWidth = (curve.colour === null ? 1 : 1.4 + above * 0.25) * ratio;
      paintLine(ctx, curve, scale, ratio);
      if (!this.timed) paintValues(ctx, curve, scale, ratio);
    });
    ctx.restore();
  }

  // --- Answers ---

  /** Shows the values under the cursor. @param {import("uplot")} frame */
  #answer(frame) {
    // A picture that is to be drawn answers then. One out of sight is drawn when it can be seen.
    if (!this.#seen) this.#dirty = true;
    if (this.#due || !this.#seen) return;
    const left = frame.cursor.left ?? -1;
    if (left < 0) {
      write(this.place, "");
      this.readings.forEach((reading) => write(reading, ""));
      this.beads.forEach((bead) => (bead.hidden = true));
      return;
    }
    const at = frame.posToVal(left, "x");
    const size = this.#plotted(frame);
    const unit = this.axis.match(/\((.*)\)$/)?.[1] ?? "";
    write(this.place, this.timed ? `${this.#fine(frame, at)}\u00a0${unit}` : this.#tick(at));
    this.shown.forEach((curve, number) => {
      const nearest = curve.nearest(at);
      const on = nearest >= 0 && !this.group.hidden.has(curve.label);
      const away = on ? frame.valToPos(curve.xs[nearest], "x") - left : Infinity;
      // A line stands for what is between its points; a mark only for itself.
      const inside = at >= curve.xs[0] && at <= curve.xs[curve.xs.length - 1];
      const within = curve.mark === "line" && inside ? Infinity : NEAR;
      const value = on && Math.abs(away) <= within ? curve.ys[nearest] : NaN;
      write(this.readings[number], Number.isFinite(value) ? measured(value) : "");
      const bead = this.beads[number];
      const top = Number.isFinite(value) ? frame.valToPos(value, "y") : NaN;
      const px = left + away;
      bead.hidden = !(top >= 0 && top <= size.height && px >= 0 && px <= size.width);
      if (!bead.hidden) {
        bead.style.left = `${px}px`;
        bead.style.top = `${top}px`;
      }
    });
  }

  /** The size of the plot, pixels of the page. To ask the page for it would make it lay out everything anew. @param {import("uplot")} frame */
  #plotted({ bbox }) {
    const ratio = devicePixelRatio || 1;
    return { width: bbox.width / ratio, height: bbox.height / ratio };
  }

  /** A time to the width of a pixel. @param {import("uplot")} frame @param {number} at */
  #fine(frame, at) {
    const pixel = Math.abs(frame.posToVal(1, "x") - frame.posToVal(0, "x"));
    return at.toFixed(Math.min(Math.max(Math.ceil(-Math.log10(pixel)), 0), 9));
  }

  /** The value of a sweep nearest to a place. @param {number} at */
  #tick(at) {
    const place = (/** @type {number} */ it) => (this.logX ? Math.log(it) : it);
    const ticks = this.data.x.ticks ?? [];
    const nearest = ticks.reduce(
      (best, tick) =>
        Math.abs(place(tick[0]) - place(at)) < Math.abs(place(best[0]) - place(at)) ? tick : best,
      ticks[0],
    );
    return nearest ? nearest[1] : measured(at);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const frame = this.#frame;
    if (!frame || event.ctrlKey || event.metaKey || event.altKey) return;
    const width = frame.over.clientWidth;
    const left = (frame.cursor.left ?? -1) >= 0 ? /** @type {number} */ (frame.cursor.left) : width / 2;
    const move = (/** @type {number} */ to) => {
      // The third argument, which is missing in uPlot's types, moves the cursor in all pictures.
      const set = /** @type {(...it: [{left: number, top: number}, boolean, boolean]) => void} */ (
        frame.setCursor
      );
      set({ left: Math.min(Math.max(to, 0), width), top: frame.over.clientHeight / 2 }, true, true);
      this.#say();
    };
    const step = event.shiftKey ? 0.1 : 0.01;
    const actions = /** @type {Record<string, () => void>} */ ({
      ArrowLeft: () => move(left - width * step),
      ArrowRight: () => move(left + width * step),
      Home: () => move(0),
      End: () => move(width),
      "+": () => this.#magnify(0.5, left),
      "=": () => this.#magnify(0.5, left),
      "-": () => this.#magnify(2, left),
      0: () => this.#zoom(null),
      Escape: () => this.#zoom(null),
    });
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Says the values under the cursor. */
  #say() {
    const values = this.curves.map(({ label }, number) => {
      const text = this.readings[number]?.textContent;
      return text ? `${label} ${text}` : "";
    });
    this.said.textContent = [this.place.textContent, ...values.filter(Boolean)].join(", ");
  }

  /** With Ctrl (a touchpad's pinch) the wheel zooms; sideways it moves. @param {WheelEvent} event */
  #wheel(event) {
    const frame = this.#frame;
    const sideways =
      Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
    if (!frame || (!event.ctrlKey && (!sideways || !this.group.spans.has(this.axis)))) return;
    event.preventDefault();
    if (event.ctrlKey) {
      const left = event.clientX - frame.over.getBoundingClientRect().left;
      this.#magnify(Math.exp(Math.min(Math.max(event.deltaY, -50), 50) * 0.01), left);
    } else this.#show(sideways, frame.over.clientWidth + sideways);
  }

  /** Shows so many times as much around a place. @param {number} times @param {number} left */
  #magnify(times, left) {
    const width = this.#frame?.over.clientWidth ?? 0;
    this.#show(left - left * times, left + (width - left) * times);
  }

  /** Shows what is between two places of the picture, which may be beyond its edges. @param {number} left @param {number} right */
  #show(left, right) {
    const frame = this.#frame;
    if (!frame) return;
    const { from, to } = this.data.x;
    let [low, high] = [frame.posToVal(left, "x"), frame.posToVal(right, "x")];
    if (low < from && !this.logX)
      [low, high] = [from, high + Math.max(from - low, 0) * (right - left <= frame.over.clientWidth ? 1 : 0)];
    if (high > to && !this.logX)
      [low, high] = [low - (high - to) * (right - left <= frame.over.clientWidth ? 1 : 0), to];
    [low, high] = [Math.max(low, from), Math.min(high, to)];
    this.#zoom(low <= from && high >= to ? null : [low, high]);
  }

  /** Shows this part in all pictures; null: all of it. @param {[number, number] | null} span */
  #zoom(span) {
    this.group.leader = this;
    this.group.zoom(this.axis, span);
  }

  // --- What is behind the picture ---

  /** The visible part as rows, the first of which is the header. */
  rows() {
    const [from, to] = this.#across();
    const on = this.shown.filter(({ label }) => !this.group.hidden.has(label));
    const part = (/** @type {Float64Array} */ xs) => [
      first(xs, from),
      first(xs, to + Number.EPSILON * Math.abs(to)),
    ];
    const unit = this.#base() ? "relative" : this.data.unit;
    const named = (/** @type {string} */ label) => (unit ? `${label} (${unit})` : label);
    if (on.length && on.every(({ xs }) => xs === on[0].xs)) {
      const [begin, end] = part(on[0].xs);
      const rows = [[this.axis, ...on.map(({ label }) => named(label))]];
      for (let at = begin; at < end; at++)
        rows.push([exact(on[0].xs[at]), ...on.map(({ ys }) => exact(ys[at]))]);
      return rows;
    }
    const rows = [["curve", this.axis, this.data.unit || "value"]];
    for (const { label, xs, ys } of on) {
      const [begin, end] = part(xs);
      for (let at = begin; at < end; at++) rows.push([label, exact(xs[at]), exact(ys[at])]);
    }
    return rows;
  }

  /** The visible part as CSV. */
  toCSV() {
    return csv(this.rows());
  }

  /** The picture as it is shown, as PNG. @returns {Promise<Blob | null>} */
  toPNG() {
    const canvas = this.#frame?.ctx.canvas;
    if (!canvas) return Promise.resolve(null);
    const copy = element("canvas");
    const head = 30 * (devicePixelRatio || 1);
    [copy.width, copy.height] = [canvas.width, canvas.height + head];
    const ctx = /** @type {CanvasRenderingContext2D} */ (copy.getContext("2d"));
    ctx.fillStyle = this.#colour("--ground");
    ctx.fillRect(0, 0, copy.width, copy.height);
    ctx.drawImage(canvas, 0, head);
    ctx.font = `${head * 0.45}px sans-serif`;
    ctx.textBaseline = "middle";
    let left = head * 0.5;
    const write = (/** @type {string} */ text, /** @type {string} */ colour) => {
      ctx.fillStyle = colour;
      ctx.fillText(text, left, head / 2);
      left += ctx.measureText(text).width + head * 0.6;
    };
    write(this.heading.textContent ?? "", this.#colour("--ink"));
    if (this.curves.length > 1) {
      for (const curve of this.shown)
        if (!this.group.hidden.has(curve.label)) write(`━ ${curve.label}`, this.#ink(curve));
    }
    return new Promise((done) => copy.toBlob(done));
  }

  /** The table behind the picture, which is filled when it is opened. */
  #table() {
    const copy = element("button", { type: "button" }, "Copy as CSV");
    copy.addEventListener("click", () => copied(copy, this.toCSV()));
    this.grid = element("div", { class: "wide tall", tabindex: "0", role: "group", "aria-label": "Numbers" });
    const details = element(
      "details",
      { class: "numbers" },
      element("summary", {}, "Numbers"),
      copy,
      this.grid,
    );
    details.addEventListener("toggle", () => details.open && this.#fill());
    return details;
  }

  #fill() {
    const [header, ...rows] = this.rows();
    const every = Math.ceil(rows.length / MAX_ROWS) || 1;
    const kept = rows.filter((_, at) => at % every === 0);
    const cells = (/** @type {string[]} */ row) => row.map((cell) => element("td", {}, cell));
    const table = element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...header.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...kept.map((row) => element("tr", {}, ...cells(row)))),
    );
    const note =
      every > 1
        ? [element("p", { class: "muted" }, `One row in ${every}; the CSV has all ${rows.length}.`)]
        : [];
    this.grid?.replaceChildren(...note, table);
  }
}

/** Gives an element this text. Where that changes nothing, the page has nothing to lay out. @param {HTMLElement} node @param {string} text */
const write = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

/** The class of a palette's colour. @param {number | null} colour */
const colourClass = (colour) => (colour === null ? "aside" : `c${colour % PALETTE}`);

/**
 * Draws a chart into a figure. What the figure has already, such as a still picture, stays for print.
 * @param {HTMLElement} figure @param {ChartData} data @param {Options} [options]
 */
export function draw(figure, data, options) {
  return new Chart(figure, data, options);
}
