// The curves of a chart: from what `Chart::to_data` writes to numbers.

/**
 * Places along an axis, in order: evenly spaced, from base64 of little-endian u32 that count `step` from
 * `from`, or one by one.
 * @typedef {{from: number, step: number, count: number} | {from: number, step: number, at: string} |
 *     {list: number[]}} Places
 *
 * Values: base64 of little-endian f32, or one by one. NaN, an infinity and null are gaps.
 * @typedef {string | (number | null)[]} Values
 *
 * @typedef {object} CurveData
 * @property {string} label
 * @property {number | null} colour  a number of the palette; null: thin and grey, a reference for the others
 * @property {"line" | "dot" | "ring" | "cross"} mark
 * @property {Places | number} xs  a number: the same as those of this earlier curve
 * @property {Values} ys
 * @property {{xs: Places | number, low: Values, high: Values}} [band]
 * @property {number | Values} [tall]  how far each mark reaches above its point; a number: all of them
 *
 * @typedef {object} ChartData
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {boolean} [afloat]  the vertical axis need not begin at zero
 * @property {boolean} [small]
 * @property {{label: string, log: boolean, from: number, to: number, ticks?: [number, string][],
 *     window?: [number, number]}} x  with ticks: they are the values of a sweep. `window` is shaded
 * @property {CurveData[]} curves
 */

/** @param {string} text @returns {DataView<ArrayBuffer>} */
export function bytes(text) {
  const raw = atob(text);
  const array = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) array[at] = raw.charCodeAt(at);
  return new DataView(array.buffer);
}

/** @param {Values} values @returns {Float32Array | Float64Array} */
function read(values) {
  if (typeof values !== "string") return Float64Array.from(values, (value) => value ?? NaN);
  const view = bytes(values);
  const read = new Float32Array(view.byteLength / 4);
  for (let at = 0; at < read.length; at++) read[at] = view.getFloat32(4 * at, true);
  return read;
}

/** @param {Places} places @returns {Float64Array} */
function place(places) {
  if ("list" in places) return Float64Array.from(places.list);
  const { from, step } = places;
  if ("count" in places) return Float64Array.from({ length: places.count }, (_, at) => from + step * at);
  const view = bytes(places.at);
  const read = new Float64Array(view.byteLength / 4);
  for (let at = 0; at < read.length; at++) read[at] = from + step * view.getUint32(4 * at, true);
  return read;
}

/** The first of these sorted numbers that is at least `least`. @param {Float64Array} xs @param {number} least */
export function first(xs, least) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** So many points are summed up together. */
export const BLOCK = 32;

/** @type {WeakMap<Float32Array | Float64Array, {low: Float64Array, high: Float64Array}>} */
const summaries = new WeakMap();

/** The least and the greatest of each full block of values; NaN where there is a gap. @param {Float32Array | Float64Array} ys */
export function summary(ys) {
  const known = summaries.get(ys);
  if (known) return known;
  const count = Math.floor(ys.length / BLOCK);
  const [low, high] = [new Float64Array(count), new Float64Array(count)];
  for (let block = 0; block < count; block++) {
    let [least, most] = [Infinity, -Infinity];
    for (let at = block * BLOCK; at < (block + 1) * BLOCK; at++) {
      const y = ys[at];
      if (!Number.isFinite(y)) {
        least = most = NaN;
        break;
      }
      if (y < least) least = y;
      if (y > most) most = y;
    }
    low[block] = least;
    high[block] = most;
  }
  const made = { low, high };
  summaries.set(ys, made);
  return made;
}

/** The least value above `above` and the greatest, of the points from `begin` to `end`. @param {Float32Array | Float64Array} ys @param {number} begin @param {number} end @param {number} above */
export function extremes(ys, begin, end, above) {
  const { low, high } = summary(ys);
  let [least, most] = [Infinity, -Infinity];
  for (let at = begin; at < end; at++) {
    const block = at / BLOCK;
    if (at % BLOCK === 0 && at + BLOCK <= end && low[block] > above) {
      if (low[block] < least) least = low[block];
      if (high[block] > most) most = high[block];
      at += BLOCK - 1;
      continue;
    }
    const y = ys[at];
    if (y < least && y > above) least = y;
    if (y > most && y < Infinity) most = y;
  }
  return [least, most];
}

/** @param {Float32Array | Float64Array} values */
const greatest = (values) => extremes(values, 0, values.length, 0)[1];

/** The points of a curve, decoded. */
export class Curve {
  /** @param {CurveData} data @param {(xs: Places | number) => Float64Array} places */
  constructor(data, places) {
    this.label = data.label;
    this.colour = data.colour;
    this.mark = data.mark;
    this.xs = places(data.xs);
    this.ys = read(data.ys);
    const tall = data.tall ?? 0;
    /** How far each mark reaches above its point; null: as far as `reach`. */
    this.tall = typeof tall === "number" ? null : read(tall);
    this.reach = typeof tall === "number" ? tall : greatest(read(tall));
    this.band = data.band && {
      xs: places(data.band.xs),
      low: read(data.band.low),
      high: read(data.band.high),
    };
  }

  /** The part of it that is painted between two places: one point beyond either. @param {number} from @param {number} to */
  visible(from, to) {
    return [Math.max(first(this.xs, from) - 1, 0), Math.min(first(this.xs, to) + 1, this.xs.length)];
  }

  /** The number of the point nearest to a place, or -1. @param {number} x */
  nearest(x) {
    const after = first(this.xs, x);
    if (after === 0 || (after < this.xs.length && this.xs[after] - x < x - this.xs[after - 1])) {
      return after < this.xs.length ? after : -1;
    }
    return after - 1;
  }

  /** The value at a place: on the line between its neighbours. @param {number} x */
  at(x) {
    const after = first(this.xs, x);
    if (after >= this.xs.length) return NaN;
    if (this.xs[after] === x || after === 0) return this.xs[after] === x ? this.ys[after] : NaN;
    const share = (x - this.xs[after - 1]) / (this.xs[after] - this.xs[after - 1]);
    return this.ys[after - 1] + share * (this.ys[after] - this.ys[after - 1]);
  }

  /** The same curve divided by another. @param {Curve} base */
  relative(base) {
    const same = base.xs === this.xs;
    const divide = (/** @type {Float64Array} */ xs, /** @type {Float32Array | Float64Array} */ ys) =>
      Float64Array.from(ys, (y, at) => {
        const by = same && xs === this.xs ? base.ys[at] : base.at(xs[at]);
        return by === 0 ? NaN : y / by;
      });
    const divided = Object.assign(Object.create(Curve.prototype), this);
    divided.ys = divide(this.xs, this.ys);
    const band = this.band;
    divided.band = band && { xs: band.xs, low: divide(band.xs, band.low), high: divide(band.xs, band.high) };
    return divided;
  }
}

/** The curves of a chart. Those with the same places share them. @param {ChartData} data */
export function curves(data) {
  /** @type {Float64Array[]} */
  const known = [];
  return data.curves.map((curve) => {
    const made = new Curve(curve, (xs) => (typeof xs === "number" ? known[xs] : place(xs)));
    known.push(made.xs);
    return made;
  });
}
