// The queue of a link, packet by packet: an animation that plays, pauses, and goes one event at a time.

import { element, measured } from "./elements.js";
import { bytes } from "./curves.js";

/**
 * @typedef {object} PacketData
 * @property {string} link
 * @property {number} rate_bps
 * @property {[string, number | null][]} owners  names, and colours of the palette
 * @property {number} from  times are `from` and so many times `step`, s
 * @property {number} step
 * @property {string} came  base64 of little-endian u32
 * @property {string} ended  the same; the greatest number: it still waited at the end
 * @property {string} whose  base64: a number of `owners` for each packet; the highest bit: it was dropped
 *
 * @typedef {{at: number, packet: number, what: "comes" | "leaves" | "is dropped"}} Step
 */

const NEVER = 0xffffffff;
const DROPPED = 0x80;
/** How many times slower than it was: what can be chosen. */
const SLOWER = [1, 3, 10, 30, 100, 300, 1000, 3000, 10000];
/** A packet's time at the transmitter takes about so long to watch, s. */
const WATCHED = 0.08;
const HEIGHT = 190;
const OVERVIEW = 56;

/** What happened at the queue, and in which order. */
class Passage {
  /** @param {PacketData} data */
  constructor(data) {
    const [came, ended, whose] = [bytes(data.came), bytes(data.ended), bytes(data.whose)];
    const count = whose.byteLength;
    const time = (/** @type {DataView} */ view, /** @type {number} */ at) => {
      const counted = view.getUint32(4 * at, true);
      return counted === NEVER ? Infinity : data.from + data.step * counted;
    };
    this.came = Float64Array.from({ length: count }, (_, at) => time(came, at));
    this.ended = Float64Array.from({ length: count }, (_, at) => time(ended, at));
    this.owner = Uint8Array.from({ length: count }, (_, at) => whose.getUint8(at) & ~DROPPED);
    this.dropped = Uint8Array.from({ length: count }, (_, at) => whose.getUint8(at) & DROPPED);
    /** @type {Step[]} */
    this.steps = [];
    for (let packet = 0; packet < count; packet++) {
      const lost = this.dropped[packet] !== 0;
      const ended = this.ended[packet];
      if (!lost || ended > this.came[packet])
        this.steps.push({ at: this.came[packet], packet, what: "comes" });
      if (ended < Infinity) this.steps.push({ at: ended, packet, what: lost ? "is dropped" : "leaves" });
    }
    // What leaves makes room for what comes at the same instant.
    const rank = { leaves: 0, comes: 1, "is dropped": 2 };
    this.steps.sort((a, b) => a.at - b.at || rank[a.what] - rank[b.what] || a.packet - b.packet);
    this.from = this.steps[0]?.at ?? 0;
    this.to = this.steps[this.steps.length - 1]?.at ?? 1;
    /** When each packet began to leave: behind the one before. */
    this.began = Float64Array.from(this.came);
    /** How many wait after each step. */
    this.length = new Uint16Array(this.steps.length + 1);
    let before = -Infinity;
    this.steps.forEach(({ at, packet, what }, number) => {
      if (what === "leaves") {
        this.began[packet] = Math.max(this.came[packet], before);
        before = at;
      }
      const waited = what === "comes" ? 1 : what === "leaves" || this.came[packet] < at ? -1 : 0;
      this.length[number + 1] = this.length[number] + waited;
    });
    this.longest = this.length.reduce((most, length) => Math.max(most, length), 1);
    const served = this.steps
      .filter(({ what }) => what === "leaves")
      .map(({ packet }) => this.ended[packet] - this.began[packet]);
    served.sort((a, b) => a - b);
    /** What a packet takes at the transmitter, s. */
    this.service = served[served.length >> 1] || (this.to - this.from) / 100 || 1e-3;
  }
}

export class Animation extends Passage {
  #due = 0;
  #before = 0;
  #playing = false;

  /** @param {HTMLElement} figure @param {PacketData} data */
  constructor(figure, data) {
    super(data);
    this.data = data;
    this.playing = element("button", { type: "button" }, "Play");
    this.speed = element("select", { "aria-label": "Speed" });
    /** How many of the steps have happened, and the time. */
    this.passed = 0;
    this.now = this.from;
    this.stage = element("canvas", { class: "stage", role: "img" });
    this.overview = element("canvas", { class: "overview", "aria-hidden": "true" });
    this.slider = element("input", {
      type: "range",
      min: "0",
      max: "10000",
      value: "0",
      "aria-label": "Time",
    });
    this.said = element("p", { class: "event", role: "status" });
    this.counts = data.owners.map(() => element("span", { class: "value" }));
    const heading = `Packets at ${data.link}: the first ${this.came.length}`;
    const legend = data.owners.map(([name, colour], number) =>
      element(
        "span",
        { class: "entry" },
        element("span", { class: `swatch box ${classOf(colour)}` }),
        name,
        this.counts[number],
      ),
    );
    this.root = element(
      "div",
      { class: "chart animation" },
      element("div", { class: "top" }, element("figcaption", { class: "heading" }, heading), ...legend),
      this.stage,
      this.overview,
      this.slider,
      this.#buttons(),
      this.said,
    );
    figure.append(this.root);
    this.slider.addEventListener("input", () => {
      this.pause();
      this.#go(this.from + (Number(this.slider.value) / 10000) * (this.to - this.from));
    });
    this.overview.addEventListener("pointerdown", (event) => {
      const box = this.overview.getBoundingClientRect();
      this.pause();
      this.#go(this.from + ((event.clientX - box.left) / box.width) * (this.to - this.from));
    });
    this.size = new ResizeObserver(() => this.draw());
    this.size.observe(this.root);
    for (const change of ["(prefers-color-scheme: dark)", "print"])
      matchMedia(change).addEventListener("change", () => this.draw());
    this.#say("Nothing has happened yet.");
  }

  #buttons() {
    const button = (/** @type {string} */ name, /** @type {() => void} */ action) => {
      const made = element("button", { type: "button" }, name);
      made.addEventListener("click", action);
      return made;
    };
    this.playing.addEventListener("click", () => (this.#playing ? this.pause() : this.play()));
    const slower = SLOWER.find((times) => this.service * times >= WATCHED) ?? SLOWER[SLOWER.length - 1];
    for (const times of SLOWER) {
      const option = element("option", {}, times === 1 ? "as it was" : `${times} times slower`);
      option.value = String(times);
      this.speed.append(option);
    }
    this.speed.value = String(slower);
    const drop = this.steps.findIndex(({ what }) => what === "is dropped");
    const first = button("To the first drop", () => {
      this.pause();
      this.#to(drop + 1);
    });
    first.disabled = drop < 0;
    return element(
      "div",
      { class: "controls", role: "group", "aria-label": "Animation" },
      this.playing,
      button("Step", () => this.step(1)),
      button("Step back", () => this.step(-1)),
      button("To the start", () => {
        this.pause();
        this.#to(0);
      }),
      first,
      this.speed,
    );
  }

  play() {
    if (this.passed >= this.steps.length) this.#to(0);
    this.#playing = true;
    this.playing.textContent = "Pause";
    this.#before = performance.now();
    const frame = (/** @type {number} */ at) => {
      this.#go(this.now + Math.max(at - this.#before, 0) / 1000 / Number(this.speed.value));
      this.#before = at;
      if (this.passed >= this.steps.length) this.pause();
      else if (this.#playing) this.#due = requestAnimationFrame(frame);
    };
    this.#due = requestAnimationFrame(frame);
  }

  pause() {
    this.#playing = false;
    cancelAnimationFrame(this.#due);
    this.playing.textContent = "Play";
    this.#tell();
  }

  /** Goes on by one event, or back by one. @param {1 | -1} by */
  step(by) {
    this.pause();
    this.#to(Math.min(Math.max(this.passed + by, 0), this.steps.length));
  }

  /** Shows the moment after so many steps. @param {number} passed */
  #to(passed) {
    this.passed = passed;
    this.now = passed > 0 ? this.steps[passed - 1].at : this.from;
    this.#tell();
    this.draw();
  }

  /** Shows a time. @param {number} at */
  #go(at) {
    this.now = Math.min(Math.max(at, this.from), this.to);
    let [low, high] = [0, this.steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle].at <= this.now) low = middle + 1;
      else high = middle;
    }
    this.passed = low;
    if (!this.#playing) this.#tell();
    this.draw();
  }

  /** Says what happened last. */
  #tell() {
    const last = this.steps[this.passed - 1];
    if (!last) return this.#say("Nothing has happened yet.");
    const name = this.data.owners[this.owner[last.packet]]?.[0] ?? "";
    const waits = Math.max(this.length[this.passed] - 1, 0); // one is at the transmitter
    this.#say(
      `${last.at.toFixed(6)} s: a packet of ${name} ${last.what}; ${waits} ${waits === 1 ? "is" : "are"} in the queue.`,
    );
  }

  /** @param {string} text */
  #say(text) {
    this.said.textContent = text;
  }

  // --- Drawing ---

  draw() {
    const width = Math.floor(this.stage.clientWidth);
    if (width < 50) return;
    const style = getComputedStyle(this.root);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim() || "#888";
    const inks = this.data.owners.map(([, number]) =>
      colour(number === null ? "--muted" : `--c${number % 8}`),
    );
    this.#drawStage(surface(this.stage, width, HEIGHT), width, colour, inks);
    this.#drawOverview(surface(this.overview, width, OVERVIEW), width, colour);
    this.slider.value = String(Math.round((10000 * (this.now - this.from)) / (this.to - this.from || 1)));
    this.slider.setAttribute("aria-valuetext", `${this.now.toFixed(6)} s`);
  }

  /** Packets that wait, the one that leaves next first. */
  #waiting() {
    const waiting = [];
    const { now, came, ended, dropped } = this;
    for (let packet = 0; packet < came.length && came[packet] <= now; packet++) {
      if (ended[packet] > now || (ended[packet] === Infinity && !dropped[packet])) waiting.push(packet);
    }
    // One that has come at this very instant may not be among the steps that were made.
    const last = this.steps[this.passed];
    const early = last && last.at === now && last.what === "comes" ? last.packet : -1;
    return waiting.filter((packet) => packet !== early).sort((a, b) => ended[a] - ended[b] || a - b);
  }

  /**
   * @param {CanvasRenderingContext2D} ctx @param {number} width @param {(name: string) => string} colour
   * @param {string[]} inks
   */
  #drawStage(ctx, width, colour, inks) {
    const [top, area] = [26, 110];
    const head = Math.floor(width * 0.7); // the queue ends here, and the transmitter begins
    let cell = 18;
    const fits = () => Math.floor((head - 16) / cell) * Math.floor(area / cell) > this.longest;
    while (cell > 3 && !fits()) cell -= 1;
    const columns = Math.floor((head - 16) / cell);
    const rows = Math.max(Math.ceil(this.longest / columns), 1);
    const gap = cell > 6 ? 2 : cell > 4 ? 1 : 0;
    const base = top + (area + rows * cell) / 2;
    const waiting = this.#waiting();
    const serving = waiting.find((packet) => this.began[packet] <= this.now && this.ended[packet] < Infinity);
    const queued = waiting.filter((packet) => packet !== serving);
    ctx.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
    ctx.textBaseline = "middle";
    ctx.fillStyle = colour("--panel");
    const span = Math.ceil(this.longest / rows) * cell;
    ctx.fillRect(head - span - gap, base - rows * cell - gap, span + gap, rows * cell + 2 * gap);
    ctx.fillStyle = colour("--muted");
    ctx.fillText(`${this.now.toFixed(6)} s`, 8, 10);
    ctx.textAlign = "right";
    ctx.fillText(`queue: ${queued.length}`, head, 10);
    ctx.textAlign = "left";
    ctx.fillText(`${measured(this.data.rate_bps / 1e6)} Mbit/s`, head + 14, 10);
    queued.forEach((packet, place) => {
      const [column, row] = [Math.floor(place / rows), place % rows];
      ctx.fillStyle = inks[this.owner[packet]];
      ctx.fillRect(head - (column + 1) * cell, base - (row + 1) * cell + gap / 2, cell - gap, cell - gap);
    });
    // The packet at the transmitter: how much of it has left.
    const middle = base - (rows * cell) / 2;
    const [left, size] = [head + 14, 22];
    ctx.strokeStyle = colour("--muted");
    ctx.strokeRect(left + 0.5, middle - size / 2 + 0.5, size, size);
    if (serving !== undefined) {
      const share = (this.now - this.began[serving]) / (this.ended[serving] - this.began[serving]);
      ctx.fillStyle = inks[this.owner[serving]];
      ctx.fillRect(left + 2, middle - size / 2 + 2, (size - 3) * Math.min(share, 1), size - 3);
    }
    // The link: what left lately moves on.
    const [begin, end] = [left + size + 6, width - 8];
    ctx.beginPath();
    ctx.moveTo(begin, middle + 0.5);
    ctx.lineTo(end, middle + 0.5);
    ctx.stroke();
    const flight = this.service * Math.max((end - begin) / 20, 4);
    const counts = this.data.owners.map(() => [0, 0]);
    for (const packet of queued) counts[this.owner[packet]][0] += 1;
    for (let at = this.passed - 1; at >= 0 && this.steps[at].at > this.now - flight; at--) {
      const { packet, what, at: then } = this.steps[at];
      const age = (this.now - then) / flight;
      ctx.fillStyle = inks[this.owner[packet]];
      if (what === "leaves") ctx.fillRect(begin + age * (end - begin - 12), middle - 6, 12, 12);
      else if (what === "is dropped") {
        const [x, y] = [Math.max(head - span - 12, 8), base + 8 + age * 30];
        ctx.globalAlpha = 1 - age;
        ctx.fillRect(x - 6, y, 12, 12);
        ctx.strokeStyle = colour("--bad");
        ctx.lineWidth = 2;
        ctx.beginPath();
        ctx.moveTo(x - 8, y - 2);
        ctx.lineTo(x + 8, y + 14);
        ctx.moveTo(x - 8, y + 14);
        ctx.lineTo(x + 8, y - 2);
        ctx.stroke();
        ctx.globalAlpha = 1;
        ctx.lineWidth = 1;
      }
    }
    for (let at = 0; at < this.passed; at++) {
      if (this.steps[at].what === "is dropped") counts[this.owner[this.steps[at].packet]][1] += 1;
    }
    counts.forEach(
      ([wait, lost], owner) => (this.counts[owner].textContent = `${wait} in the queue, ${lost} dropped`),
    );
    this.stage.setAttribute(
      "aria-label",
      `The queue at ${this.now.toFixed(6)} s: ` +
        this.data.owners.map(([name], owner) => `${name} ${this.counts[owner].textContent}`).join("; "),
    );
  }

  /** The length of the queue over all the time, its drops, and where we are. @param {CanvasRenderingContext2D} ctx @param {number} width @param {(name: string) => string} colour */
  #drawOverview(ctx, width, colour) {
    const x = (/** @type {number} */ at) => ((at - this.from) / (this.to - this.from || 1)) * width;
    const y = (/** @type {number} */ length) => OVERVIEW - 4 - (length / this.longest) * (OVERVIEW - 12);
    ctx.fillStyle = colour("--grid");
    ctx.beginPath();
    ctx.moveTo(0, OVERVIEW - 4);
    this.steps.forEach(({ at }, number) => {
      ctx.lineTo(x(at), y(this.length[number]));
      ctx.lineTo(x(at), y(this.length[number + 1]));
    });
    ctx.lineTo(width, OVERVIEW - 4);
    ctx.fill();
    ctx.fillStyle = colour("--bad");
    for (const { at, what } of this.steps) if (what === "is dropped") ctx.fillRect(x(at), 0, 1, 6);
    ctx.fillStyle = colour("--c0");
    ctx.fillRect(x(this.now) - 1, 0, 2, OVERVIEW);
  }
}

/** @param {number | null} colour */
const classOf = (colour) => (colour === null ? "aside" : `c${colour % 8}`);

/** An empty surface of this size, in pixels of the page. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function surface(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}
