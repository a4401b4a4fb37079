// Results: curves, expectations, tables. All of it is text and numbers, never markup.

import { Group, controls, draw } from "./charts.js";
import { csv, element } from "./elements.js";
import { answers } from "./tables.js";

/**
 * @typedef {import("./charts.js").Chart} Chart
 * @typedef {import("./curves.js").ChartData} ChartData
 * @typedef {{name: string, charts: ChartData[], note: string | null}} Column
 * @typedef {{variant: string, header: string[], words: number, rows: string[][], note: string}} Table
 * @typedef {{variant: string, that: string, held: number, of: number, why: string}} Verdict
 * @typedef {{tables: Table[], verdicts: Verdict[], warnings: {variant: string, point: string, text: string}[]}} Found
 */

/** A file for the user. @param {string} name @param {Blob} content */
export function save(name, content) {
  const url = URL.createObjectURL(content);
  const anchor = element("a", { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A chart that is shown, and its place. @typedef {{chart: Chart, figure: HTMLElement}} Drawn */

export class Results {
  /** Charts zoom together. */
  group = new Group();
  /** @type {Map<string, Drawn>} */
  #drawn = new Map();
  /** @type {Table[]} */
  tables = [];
  /** How the user has sorted each table, by its name. @type {Map<string, import("./tables.js").Order>} */
  #orders = new Map();
  #shape = "";

  /** @param {(id: string) => void} picture  asks for a picture as a file */
  constructor(picture) {
    this.picture = picture;
    const part = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
    this.columns = part("columns");
    this.verdicts = part("verdicts");
    this.warnings = part("warnings");
    this.sheets = part("tables");
    part("bar").append(controls(this.group));
  }

  /** Draws what there is; what is drawn already changes in its place. @param {Column[]} columns */
  draw(columns) {
    const shape = JSON.stringify(
      columns.map(({ name, charts }) => [name, charts.map(({ id, small }) => [id, small])]),
    );
    if (shape !== this.#shape) this.#arrange(columns, shape);
    columns.forEach(({ charts, note }, at) => {
      for (const data of charts) this.#drawn.get(`${at} ${data.id}`)?.chart.update(data);
      const noted = this.columns.children[at]?.querySelector(".note");
      if (noted) noted.textContent = note ?? "";
    });
  }

  /** @param {Column[]} columns @param {string} shape */
  #arrange(columns, shape) {
    this.#shape = shape;
    const before = this.#drawn;
    this.#drawn = new Map();
    this.columns.replaceChildren(
      ...columns.map(({ name, charts }, at) => {
        const heading = name ? [element("h2", {}, name)] : [];
        const small = element("div", { class: "pair" });
        const large = charts
          .filter(({ small }) => !small)
          .map((data) => this.#figure(`${at} ${data.id}`, data, before));
        small.append(
          ...charts
            .filter((data) => data.small)
            .map((data) => this.#figure(`${at} ${data.id}`, data, before)),
        );
        return element(
          "div",
          { class: "column" },
          ...heading,
          element("p", { class: "muted note" }),
          ...large,
          small,
        );
      }),
    );
    for (const { chart } of before.values()) chart.destroy();
    this.columns.classList.toggle("several", columns.length > 1);
  }

  /** The figure of a chart: the one that is there, or a new one. @param {string} key @param {ChartData} data @param {Map<string, Drawn>} before */
  #figure(key, data, before) {
    const kept = before.get(key);
    if (kept) {
      before.delete(key);
      this.#drawn.set(key, kept);
      return kept.figure;
    }
    const figure = element("figure");
    const chart = draw(figure, data, { group: this.group });
    const name = () => chart.data.id;
    const png = element("button", { type: "button" }, "PNG");
    png.addEventListener("click", async () => {
      const content = await chart.toPNG();
      if (content) save(`${name()}.png`, content);
    });
    const svg = element("button", { type: "button" }, "SVG");
    svg.addEventListener("click", () => this.picture(name()));
    const rows = element("button", { type: "button" }, "CSV");
    rows.addEventListener("click", () =>
      save(`${name()}.csv`, new Blob([chart.toCSV()], { type: "text/csv" })),
    );
    figure.append(
      element(
        "div",
        { class: "saves", role: "group", "aria-label": `Save ${data.title} as` },
        png,
        svg,
        rows,
      ),
    );
    this.#drawn.set(key, { chart, figure });
    return figure;
  }

  /** @param {Found} found @param {boolean} several  variants */
  find({ tables, verdicts, warnings }, several) {
    this.tables = tables;
    const of = (/** @type {string} */ variant) => (several ? [element("b", {}, `${variant}: `)] : []);
    this.verdicts.hidden = verdicts.length === 0;
    this.verdicts.replaceChildren(
      ...verdicts.map(({ variant, that, held, of: all, why }) => {
        const holds = held === all;
        const count = all > 1 ? ` at ${held} of ${all} points` : "";
        return element(
          "li",
          { class: holds ? "holds" : "fails" },
          element("span", { class: "mark" }, holds ? "✓ holds" : "✗ fails"),
          element(
            "span",
            { class: "that" },
            ...of(variant),
            element("code", {}, that),
            element("span", { class: "muted" }, count + (why ? `  ${why}` : "")),
          ),
        );
      }),
    );
    this.warnings.hidden = warnings.length === 0;
    this.warnings.replaceChildren(
      ...warnings.map(({ variant, point, text }) =>
        element("li", {}, ...of(variant), point ? `${point}: ` : "", text),
      ),
    );
    const open = this.sheets.querySelector("details")?.open ?? true;
    const details = element(
      "details",
      { class: "sheets" },
      element("summary", {}, "Tables"),
      ...tables.map((table) => this.#table(table, several)),
    );
    details.open = open;
    this.sheets.replaceChildren(...(tables.length > 0 ? [details] : []));
  }

  /** @param {Table} table @param {boolean} several */
  #table({ variant, header, words, rows, note }, several) {
    const word = (/** @type {number} */ at) =>
      /** @type {Record<string, string>} */ (at < words ? { class: "word" } : {});
    const head = header.map((name, at) => element("th", { scope: "col", ...word(at) }, name));
    const body = rows.map((row) =>
      element("tr", {}, ...row.map((cell, at) => element("td", word(at), cell))),
    );
    const table = element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...body),
    );
    if (several) table.prepend(element("caption", {}, variant));
    const name = `Table${several ? ` of ${variant}` : ""}: ${header[words] ?? ""}`.replaceAll("\n", " ");
    const order = this.#orders.get(name) ?? { column: -1, falling: false };
    this.#orders.set(name, order);
    return element(
      "div",
      {},
      element("div", { class: "wide", tabindex: "0", role: "group", "aria-label": name }, table),
      answers(table, order),
      ...(note ? [element("p", { class: "muted" }, note)] : []),
    );
  }

  /** All tables as CSV. */
  toCSV() {
    const several = new Set(this.tables.map(({ variant }) => variant)).size > 1;
    const line = (/** @type {string[]} */ row) => row.map((cell) => cell.replaceAll("\n", " "));
    return this.tables
      .map(({ variant, header, rows }) =>
        csv([header, ...rows].map((row, at) => line(several ? [at ? variant : "variant", ...row] : row))),
      )
      .join("\r\n");
  }

  /** Results that are not up to date are pale. @param {boolean} stale */
  stale(stale) {
    for (const part of [this.verdicts, this.warnings, this.sheets]) part.classList.toggle("stale", stale);
  }
}
