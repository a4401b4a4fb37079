// The form of a scenario. The server says what it has; a change goes to the server, which changes the text.

import { element } from "./elements.js";

/**
 * @typedef {import("./asking.js").Problem} Problem
 * @typedef {{name: string, title: string, about: string, value: unknown}} Name
 *
 * @typedef {object} Field
 * @property {string[]} path
 * @property {string} key  the path, as messages name it
 * @property {string} label
 * @property {any} value  null: the text says nothing
 * @property {boolean} swept
 * @property {"quantity" | "share" | "count" | "choice" | "choices"} kind
 * @property {string[]} [units]
 * @property {any} [least]
 * @property {any} [most]
 * @property {string} [unsaid]
 * @property {Name[]} [names]
 * @property {boolean} [optional]
 *
 * @typedef {{title: string, fields: Field[]}} Section
 * @typedef {(path: string[], value: unknown) => void} Change
 */

/** How much a unit is of the first of its kind. @type {Record<string, number>} */
const WORTH = {
  "bit/s": 1,
  "kbit/s": 1e3,
  "Mbit/s": 1e6,
  "Gbit/s": 1e9,
  ns: 1e-9,
  us: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3600,
  packets: 1,
  bdp: 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1 << 20,
};
/** What a slider reaches where that depends on the unit of the text. @type {Record<string, [number, number]>} */
const REACH = { packets: [1, 20000], bdp: [0.02, 20], B: [1000, 1e9], kB: [1, 1e6], MB: [0.01, 1000] };
const STEPS = 1000;
/** So many controllers are compared at most: more curves cannot be told apart. */
const MOST_NAMES = 8;

/** A number and its unit. @param {unknown} text @returns {[number, string] | null} */
function quantity(text) {
  const [, number, unit] = /^\s*([-+.\deE]+)\s*([a-zA-Z/]+)\s*$/.exec(String(text)) ?? [];
  const value = Number(number);
  return unit && unit in WORTH && Number.isFinite(value) ? [value, unit] : null;
}

/** Three digits say enough on a slider. @param {number} value */
const rounded = (value) => Number(value.toPrecision(value >= 100 ? 3 : 2));

/** A slider over a range on a logarithmic scale. @param {number} least @param {number} most */
const logarithmic = (least, most) => ({
  /** @param {number} step */
  value: (step) => least * (most / least) ** (step / STEPS),
  /** @param {number} value */
  step: (value) =>
    value > least ? Math.round((STEPS * Math.log(value / least)) / Math.log(most / least)) : 0,
});

/** The way between the steps of a slider and a quantity like this text. @param {Field} field @param {unknown} text */
function scale(field, text) {
  const units = field.units ?? [];
  const [value, unit] = quantity(text) ?? quantity(field.unsaid) ?? [1, units[0]];
  if (unit in REACH) {
    const { value: at, step } = logarithmic(...REACH[unit]);
    const whole = unit === "packets";
    return {
      step: step(value),
      text: (/** @type {number} */ to) => `${whole ? Math.round(rounded(at(to))) : rounded(at(to))} ${unit}`,
    };
  }
  const base = ([number, its] = /** @type {[number, string]} */ ([1, "s"])) => number * WORTH[its];
  const { value: at, step } = logarithmic(
    base(quantity(field.least) ?? undefined),
    base(quantity(field.most) ?? undefined),
  );
  return {
    step: step(base([value, unit])),
    text: (/** @type {number} */ to) => {
      const number = at(to);
      const fits = units.filter((name) => number >= 0.9995 * WORTH[name]);
      const name = fits.at(-1) ?? units[0];
      return `${rounded(number / WORTH[name])} ${name}`;
    },
  };
}

/** Values as a form's fields show them. @param {unknown} value */
const shown = (value) => (value === null || value === undefined ? "" : String(value));

/** A field on the page: its elements, and how it takes a new value. */
class Row {
  static #count = 0;
  id = `field-${Row.#count++}`;

  /** @param {Field} field @param {Change} change */
  constructor(field, change) {
    this.field = field;
    this.change = change;
    this.problem = element("div", { class: "problem", id: `${this.id}-problem`, hidden: "" });
    this.root = element("div", { class: `field ${field.kind}` });
    /** @type {(HTMLInputElement | HTMLSelectElement)[]} */
    this.inputs = [];
    this[field.kind]();
    this.root.append(this.problem);
    this.update(field);
  }

  /** @template {HTMLInputElement | HTMLSelectElement} T @param {T} input @returns {T} */
  #own(input) {
    input.setAttribute("aria-describedby", `${this.id}-problem`);
    this.inputs.push(input);
    return input;
  }

  #label() {
    return element("label", { for: this.id }, this.field.label);
  }

  /** @param {unknown} value */
  #set(value) {
    this.change(this.field.path, value);
  }

  #text() {
    const text = this.#own(element("input", { type: "text", id: this.id, inputmode: "text" }));
    text.addEventListener("change", () => {
      const value = text.value.trim();
      if (value === "") this.#set(null);
      else this.#set(this.field.kind === "quantity" || Number.isNaN(Number(value)) ? value : Number(value));
    });
    return text;
  }

  #slider(/** @type {number} */ steps) {
    const slider = this.#own(
      element("input", {
        type: "range",
        min: "0",
        max: String(steps),
        step: "1",
        "aria-label": this.field.label,
      }),
    );
    return slider;
  }

  quantity() {
    const [text, slider] = [this.#text(), this.#slider(STEPS)];
    slider.addEventListener("input", () => {
      const value = scale(this.field, text.value).text(slider.valueAsNumber);
      text.value = value;
      slider.setAttribute("aria-valuetext", value);
      this.#set(value);
    });
    this.root.append(this.#label(), text, slider);
    this.show = () => {
      if (text !== document.activeElement) text.value = shown(this.field.value);
      text.placeholder = this.field.unsaid ? `e.g. ${this.field.unsaid}` : "";
      const said = this.field.value ?? this.field.unsaid;
      if (slider !== document.activeElement || this.field.value === null)
        slider.value = String(scale(this.field, said).step);
      slider.setAttribute("aria-valuetext", shown(this.field.value) || "not set");
    };
  }

  share() {
    const [text, slider] = [this.#text(), this.#slider(STEPS)];
    const { value: at, step } = logarithmic(this.field.least, this.field.most);
    slider.addEventListener("input", () => {
      const to = slider.valueAsNumber;
      const value = to === 0 ? 0 : rounded(at(to));
      text.value = shown(value);
      slider.setAttribute("aria-valuetext", shown(value));
      this.#set(value);
    });
    this.root.append(this.#label(), text, slider);
    this.show = () => {
      const value = this.field.value;
      if (text !== document.activeElement) text.value = shown(value);
      text.placeholder = "none";
      if (slider !== document.activeElement) slider.value = String(value > 0 ? Math.max(step(value), 1) : 0);
      slider.setAttribute("aria-valuetext", shown(value) || "none");
    };
  }

  count() {
    const text = this.#text();
    const slider = this.#slider(this.field.most);
    slider.min = String(this.field.least);
    slider.addEventListener("input", () => {
      text.value = slider.value;
      this.#set(slider.valueAsNumber);
    });
    this.root.append(this.#label(), text, slider);
    this.show = () => {
      if (text !== document.activeElement) text.value = shown(this.field.value);
      text.placeholder = "1";
      if (slider !== document.activeElement) slider.value = String(this.field.value ?? 1);
    };
  }

  choice() {
    const select = this.#own(element("select", { id: this.id }));
    const names = this.field.names ?? [];
    if (this.field.optional) select.append(element("option", { value: "" }, "default"));
    for (const { name, title } of names)
      select.append(element("option", { value: name }, title === name ? name : `${name} – ${title}`));
    select.addEventListener("change", () => {
      const chosen = names.find(({ name }) => name === select.value);
      this.#set(chosen ? chosen.value : null);
    });
    this.root.append(this.#label(), select);
    this.show = () => {
      const value = shown(this.field.value);
      if (value && !names.some(({ name }) => name === value)) {
        if (![...select.options].some((option) => option.value === value))
          select.append(element("option", { value }, value));
      }
      select.value = value;
      select.title = names.find(({ name }) => name === value)?.about ?? "";
    };
  }

  choices() {
    const names = this.field.names ?? [];
    const chips = element("div", { class: "chips", role: "group", "aria-label": this.field.label });
    const select = this.#own(element("select", { id: this.id }));
    const list = () => /** @type {unknown[]} */ (Array.isArray(this.field.value) ? this.field.value : []);
    select.addEventListener("change", () => {
      const name = select.value;
      select.value = "";
      if (name) this.#set([...list(), name]);
    });
    this.root.append(this.#label(), select, chips);
    this.show = () => {
      const chosen = list();
      select.replaceChildren(
        element("option", { value: "" }, "add …"),
        ...names
          .filter(({ name }) => !chosen.includes(name))
          .map(({ name, title }) =>
            element("option", { value: name }, title === name ? name : `${name} – ${title}`),
          ),
      );
      select.disabled = chosen.length >= MOST_NAMES;
      chips.replaceChildren(
        ...chosen.map((value, at) => {
          const name = typeof value === "string" ? value : JSON.stringify(value);
          const chip = element(
            "button",
            { type: "button", class: "chip", "aria-label": `Remove ${name}` },
            name,
            element("span", { "aria-hidden": "true" }, "×"),
          );
          chip.disabled = chosen.length === 1;
          chip.addEventListener("click", () => this.#set(list().filter((_, other) => other !== at)));
          return chip;
        }),
      );
    };
  }

  /** @type {() => void} */
  show = () => {};

  /** @param {Field} field */
  update(field) {
    this.field = field;
    for (const input of this.inputs) input.disabled = field.swept;
    this.root.classList.toggle("swept", field.swept);
    this.root.title = field.swept ? "The sweep sets it" : "";
    this.show();
  }

  /** Says what is wrong here, or that nothing is. @param {Problem | null} problem */
  tell(problem) {
    const text = problem ? problem.message + (problem.help ? `\n${problem.help}` : "") : "";
    if (this.problem.textContent !== text) this.problem.textContent = text;
    this.problem.hidden = !problem;
    for (const input of this.inputs) {
      if (problem) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }
}

/** The whole form. */
export class Form {
  /** @type {Row[]} */
  #rows = [];
  #shape = "";

  /** @param {HTMLElement} root @param {Change} change */
  constructor(root, change) {
    this.root = root;
    this.change = change;
    root.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows what the text says. Fields stay where they are, so that a slider can be held. @param {Section[]} sections */
  update(sections) {
    const fields = sections.flatMap(({ fields }) => fields);
    const shape = JSON.stringify(
      sections.map(({ title, fields }) => [title, fields.map(({ key, kind }) => [key, kind])]),
    );
    if (shape === this.#shape) {
      this.#rows.forEach((row, at) => row.update(fields[at]));
      return;
    }
    const focused = this.#rows.find((row) => row.root.contains(document.activeElement))?.field.key;
    this.#shape = shape;
    this.#rows = fields.map((field) => new Row(field, this.change));
    let at = 0;
    this.root.replaceChildren(
      ...sections.map(({ title, fields }) => {
        const rows = this.#rows.slice(at, (at += fields.length));
        return element("fieldset", {}, element("legend", {}, title), ...rows.map((row) => row.root));
      }),
    );
    this.#rows.find(({ field }) => field.key === focused)?.inputs[0]?.focus();
  }

  /** Says what is wrong at the field that it concerns. True if there is one. @param {Problem | null} problem */
  tell(problem) {
    const concerned = problem && problem.key ? this.#concerned(problem.key) : null;
    for (const row of this.#rows) row.tell(row === concerned ? problem : null);
    return concerned !== null;
  }

  /** The field for a key: that of the key, or of the table around it. @param {string} key */
  #concerned(key) {
    const near = this.#rows.filter(({ field }) => key === field.key || key.startsWith(`${field.key}.`));
    return near.sort((a, b) => b.field.key.length - a.field.key.length)[0] ?? null;
  }
}
