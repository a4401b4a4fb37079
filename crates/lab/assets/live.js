// An emulated run as it happens: what the probes see of the kernel's own TCP, drawn as it comes.

/**
 * @typedef {import("./curves.js").ChartData} ChartData
 * @typedef {{flows: string[], links: string[], payload: number[], duration: number}} Begun
 *
 * A glimpse of a flow or of a link. Some are missing where this page is slow, so what was delivered counts from
 * the begin of the run, segments.
 * @typedef {{flow?: number, link?: number, at: number, cwnd: number, rtt: number, delivered: number, waiting: number}} Glimpse
 */

/** So many curves can be told apart. */
const MOST = 8;

export class Live {
  /** When each flow was seen last, and what it had delivered by then. @type {Map<number, {at: number, delivered: number}>} */
  #last = new Map();

  /** @param {Begun} begun */
  constructor({ flows, links, payload, duration }) {
    this.payload = payload;
    this.duration = duration;
    this.begun = performance.now();
    const quantities = /** @type {[string, string, string, string[]][]} */ ([
      ["cwnd", "cwnd", "segments", flows],
      ["srtt", "Smoothed round-trip time", "ms", flows],
      ["throughput", "Delivered", "Mbit/s", flows],
      ["queue", "Queue", "packets", links],
    ]);
    /** @type {Map<string, ChartData & {curves: {label: string, colour: number, mark: "line", xs: {list: number[]}, ys: number[]}[]}>} */
    this.charts = new Map(
      quantities.map(([id, title, unit, names]) => [
        id,
        {
          id,
          title,
          unit,
          afloat: id === "srtt",
          x: { label: "time (s)", log: false, from: 0, to: duration },
          curves: names
            .slice(0, MOST)
            .map((label, colour) => ({ label, colour, mark: "line", xs: { list: [] }, ys: [] })),
        },
      ]),
    );
  }

  /** @param {string} id @param {number} number @param {number} at @param {number} value */
  #add(id, number, at, value) {
    const curve = this.charts.get(id)?.curves[number];
    curve?.xs.list.push(at);
    curve?.ys.push(value);
  }

  /** @param {Glimpse} glimpse */
  see({ flow, link, at, cwnd, rtt, delivered, waiting }) {
    if (link !== undefined) this.#add("queue", link, at, waiting);
    if (flow === undefined) return;
    const last = this.#last.get(flow) ?? { at: 0, delivered: 0 };
    this.#last.set(flow, { at, delivered });
    this.#add("cwnd", flow, at, cwnd);
    if (rtt > 0) this.#add("srtt", flow, at, rtt * 1000);
    const bits = (delivered - last.delivered) * this.payload[flow] * 8;
    if (at > last.at) this.#add("throughput", flow, at, bits / 1e6 / (at - last.at));
  }

  columns() {
    return [{ name: "", note: null, charts: [...this.charts.values()] }];
  }
}
