// Paints curves on a canvas: only what is visible, and not more of it than there are pixels.

import { BLOCK, first, summary } from "./curves.js";

/**
 * @typedef {{left: number, top: number, width: number, height: number}} Box  pixels of the canvas
 *
 * @typedef {object} Scale  from values to pixels of the canvas
 * @property {number} from  what is visible of the horizontal axis
 * @property {number} to
 * @property {(value: number) => number} x
 * @property {(value: number) => number} y
 * @property {(value: number) => boolean} usable  has this value a place?
 *
 * @typedef {import("./curves.js").Curve} Curve
 */

/** A mark that reaches further than this is a bar, pixels. */
const BAR = 3;
/** Marks that stand further apart than this are drawn large, pixels. */
const ROOMY = 7;

/** A logarithmic or a linear axis from `low` to `high` on `size` pixels from `start`. @param {boolean} log @param {[number, number]} ends @param {number} start @param {number} size */
function along(log, [low, high], start, size) {
  const [from, to] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const times = size / (to - from);
  /** @type {(value: number) => number} */
  const place = log
    ? (value) => start + (Math.log(value) - from) * times
    : (value) => start + (value - from) * times;
  return place;
}

/**
 * The scale of a picture in this box.
 * @param {Box} box @param {{log: boolean, ends: [number, number]}} x @param {{log: boolean, ends: [number, number]}} y
 * @returns {Scale}
 */
export function scaled(box, x, y) {
  return {
    from: x.ends[0],
    to: x.ends[1],
    x: along(x.log, x.ends, box.left, box.width),
    y: along(y.log, y.ends, box.top + box.height, -box.height),
    usable: y.log ? (value) => value > 0 && value < Infinity : Number.isFinite,
  };
}

/** The band around a curve. @param {CanvasRenderingContext2D} ctx @param {NonNullable<Curve["band"]>} band @param {Scale} scale */
export function paintBand(ctx, { xs, low, high }, { x, y, from, to, usable }) {
  const [begin, end] = [Math.max(first(xs, from) - 1, 0), Math.min(first(xs, to) + 1, xs.length)];
  const floor = (/** @type {number} */ value) => (usable(value) ? y(value) : ctx.canvas.height);
  ctx.globalAlpha = 0.16;
  ctx.beginPath();
  for (let at = begin; at < end; at++) ctx.lineTo(x(xs[at]), floor(high[at]));
  for (let at = end - 1; at >= begin; at--) ctx.lineTo(x(xs[at]), floor(low[at]));
  ctx.fill();
  ctx.globalAlpha = 1;
}

/**
 * A line. Where a column of pixels has several points, only the first, least, greatest and last count.
 * @param {CanvasRenderingContext2D} ctx @param {Curve} curve @param {Scale} scale @param {number} ratio  pixels of the canvas per pixel of the page
 */
export function paintLine(ctx, curve, { x, y, from, to, usable }, ratio) {
  const { xs, ys } = curve;
  const [begin, end] = curve.visible(from, to);
  ctx.beginPath();
  let pen = false;
  let column = NaN;
  let [low, high, last] = [0, 0, 0];
  const leave = () => {
    if (!pen || low === high) return;
    ctx.lineTo(column, low);
    ctx.lineTo(column, high);
    ctx.lineTo(column, last);
    low = high = last;
  };
  const blocks = summary(ys);
  for (let at = begin; at < end; at++) {
    // A block that is within one column of pixels is drawn at once.
    const block = at / BLOCK;
    if (at % BLOCK === 0 && at + BLOCK <= end && usable(blocks.low[block])) {
      const behind = at + BLOCK - 1;
      const start = x(xs[at]);
      const here = Math.round(start);
      if (here === Math.round(x(xs[behind]))) {
        const top = y(blocks.high[block]);
        const bottom = y(blocks.low[block]);
        if (here === column) {
          low = Math.min(low, top);
          high = Math.max(high, bottom);
        } else {
          leave();
          if (pen) ctx.lineTo(start, y(ys[at]));
          else ctx.moveTo(start, y(ys[at]));
          pen = true;
          column = here;
          low = top;
          high = bottom;
        }
        last = y(ys[behind]);
        at = behind;
        continue;
      }
    }
    if (!usable(ys[at])) {
      leave();
      pen = false;
      column = NaN;
      continue;
    }
    const px = x(xs[at]);
    const py = y(ys[at]);
    const here = Math.round(px);
    if (here === column) {
      if (py < low) low = py;
      if (py > high) high = py;
      last = py;
      continue;
    }
    leave();
    if (pen) ctx.lineTo(px, py);
    else {
      ctx.moveTo(px, py);
      if (at + 1 >= end || !usable(ys[at + 1])) ctx.lineTo(px + ratio, py); // a point between gaps
    }
    pen = true;
    column = here;
    low = high = last = py;
  }
  leave();
  ctx.stroke();
}

/** A dot for each value of a sweep. @param {CanvasRenderingContext2D} ctx @param {Curve} curve @param {Scale} scale @param {number} ratio */
export function paintValues(ctx, curve, { x, y, from, to, usable }, ratio) {
  const { xs, ys } = curve;
  const [begin, end] = curve.visible(from, to);
  ctx.beginPath();
  for (let at = begin; at < end; at++) {
    if (!usable(ys[at])) continue;
    ctx.moveTo(x(xs[at]), y(ys[at]));
    ctx.arc(x(xs[at]), y(ys[at]), 3 * ratio, 0, 7);
  }
  ctx.fill();
}

/** Marks, one for each point. Of those that would cover each other one is drawn. */
export class Marks {
  /** Pixels that have a mark, by the number of the pass that set it. */
  #taken = new Uint32Array(0);
  #pass = 0;

  /** @param {CanvasRenderingContext2D} ctx @param {Curve} curve @param {Scale} scale @param {Box} box @param {number} ratio */
  paint(ctx, { xs, ys, mark, tall, reach }, { x, y, from, to, usable }, box, ratio) {
    const [begin, end] = [first(xs, from), Math.min(first(xs, to) + 1, xs.length)];
    const [columns, rows] = [Math.ceil(box.width / ratio) + 1, Math.ceil(box.height / ratio) + 1];
    if (this.#taken.length !== columns * rows) this.#taken = new Uint32Array(columns * rows);
    const [taken, pass] = [this.#taken, ++this.#pass];
    const large = box.width / Math.max(end - begin, 1) > ROOMY * ratio;
    const size = (large ? 2.5 : 1) * ratio;
    ctx.lineWidth = 1.3 * ratio;
    const blocks = summary(ys);
    const column = (/** @type {number} */ at) => Math.floor((x(at) - box.left) / ratio);
    const row = (/** @type {number} */ at) => Math.floor((y(at) - box.top) / ratio);
    ctx.beginPath();
    for (let at = begin; at < end; at++) {
      // Of a block that is within one pixel, one point is enough.
      const block = at / BLOCK;
      const behind = at + BLOCK - 1;
      const summed = at % BLOCK === 0 && behind < end && usable(blocks.low[block]);
      const alike =
        summed && column(xs[at]) === column(xs[behind]) && row(blocks.low[block]) === row(blocks.high[block]);
      if (alike) at = behind;
      if (!usable(ys[at])) continue;
      const px = x(xs[at]);
      const py = y(ys[at]);
      const across = Math.floor((px - box.left) / ratio);
      const down = Math.floor((py - box.top) / ratio);
      if (across < 0 || across >= columns || down < 0 || down >= rows) continue;
      if (taken[down * columns + across] === pass) continue;
      taken[down * columns + across] = pass;
      // What reaches far enough is a bar.
      const top = reach > 0 ? y(ys[at] + (tall ? tall[at] : reach)) : py;
      const bar = py - top > BAR * ratio;
      if (bar) ctx.fillRect(Math.round(px - size / 2), top, Math.max(Math.round(size), ratio), py - top);
      if (bar && mark === "dot") continue;
      if (mark === "dot" && !large)
        ctx.fillRect(Math.round(px - size), Math.round(py - size), 2 * size, 2 * size);
      else if (mark === "cross") cross(ctx, px, py, 3 * ratio);
      else {
        const radius = mark === "ring" ? 3 * ratio : size;
        ctx.moveTo(px + radius, py);
        ctx.arc(px, py, radius, 0, 7);
      }
    }
    if (mark === "dot") ctx.fill();
    else ctx.stroke();
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number} px @param {number} py @param {number} arm */
function cross(ctx, px, py, arm) {
  ctx.moveTo(px - arm, py - arm);
  ctx.lineTo(px + arm, py + arm);
  ctx.moveTo(px - arm, py + arm);
  ctx.lineTo(px + arm, py - arm);
}
