// The lab: a scenario as a form and as text, its results beside it, and everything changes with everything.

import { read, written } from "./address.js";
import { ask, follow } from "./asking.js";
import { copied, element } from "./elements.js";
import { Form } from "./form.js";
import { gallery } from "./gallery.js";
import { Live } from "./live.js";
import { Results, save } from "./results.js";

/**
 * @typedef {import("./asking.js").Problem} Problem
 * @typedef {import("./address.js").State} State
 */

/** A run that takes longer gives way to the next change; a quicker one is shown first, ms. */
const PATIENCE = 250;
/** After the last letter, ms. */
const TYPED = 150;
/** The address follows after a while, ms: browsers allow only so many changes of it. */
const SETTLED = 300;
const MOST = 6;
const LETTERS = ["A", "B", "C", "D", "E", "F"];

/** @template {HTMLElement} T @param {string} id @returns {T} */
const part = (id) => /** @type {T} */ (document.getElementById(id));
const text = /** @type {HTMLTextAreaElement} */ (part("text"));
const gutter = part("gutter");
const status = part("status");
const progress = /** @type {HTMLProgressElement} */ (part("progress"));

/** @type {State} */
const state = { variants: [], chosen: 0, beside: false };
/** Who asks: random, and also where the page is not from this machine, and so no secure context. */
const tab = crypto.getRandomValues(new Uint32Array(4)).join("-");
const chosen = () => state.variants[state.chosen];

// --- The text and the form ---

const form = new Form(part("form"), (path, value) => change([path, value]));

/** Changes of the form that the server has not got yet. @type {Map<string, [string[], unknown]>} */
const changes = new Map();
let asking = false;

/** A change of the form. Only the newest of each field counts. @param {...[string[], unknown]} all */
function change(...all) {
  for (const [path, value] of all) {
    changes.set(JSON.stringify(path), [path, value]);
    // Several seeds take the place of the one.
    if (path.join() === "seeds") changes.set('["seed"]', [["seed"], null]);
    if (path.join() === "seeds" && value === 1) changes.set('["seeds"]', [["seeds"], null]);
  }
  void send();
}

/** Sends what has changed, and takes what comes back. */
async function send() {
  if (asking) return;
  asking = true;
  try {
    for (;;) {
      const variant = chosen();
      const set = [...changes.values()];
      changes.clear();
      const asked = variant.text;
      const answer = await ask("/api/form", { text: asked, set });
      // Somebody has chosen or typed something else meanwhile.
      if (variant !== chosen() || variant.text !== asked) {
        if (variant === chosen())
          for (const [path, value] of set) changes.set(JSON.stringify(path), [path, value]);
        continue;
      }
      if (answer.text !== undefined) take(answer);
      else tell(answer.problem);
      if (changes.size === 0) break;
    }
  } catch (error) {
    fail(error);
  } finally {
    asking = false;
  }
}

/** Takes a text that the server has seen. @param {{text: string, form: import("./form.js").Section[] | null, problem: Problem | null}} answer */
function take(answer) {
  chosen().text = answer.text;
  write(answer.text);
  if (answer.form) form.update(answer.form);
  tell(answer.problem);
  if (!answer.problem) compute();
  settle();
}

/** Writes the text, unless it is there. @param {string} words */
function write(words) {
  if (text.value !== words) {
    const { selectionStart, selectionEnd, scrollTop } = text;
    text.value = words;
    text.setSelectionRange(selectionStart, selectionEnd);
    text.scrollTop = scrollTop;
  }
  number();
}

/** Numbers the lines. @param {number | null} [bad] */
function number(bad = null) {
  const count = text.value.split("\n").length;
  if (gutter.childElementCount !== count) {
    gutter.replaceChildren(...Array.from({ length: count }, (_, at) => element("span", {}, String(at + 1))));
  }
  [...gutter.children].forEach((line, at) => line.classList.toggle("bad", at + 1 === bad));
  gutter.scrollTop = text.scrollTop;
}

/** Says what is wrong with the scenario: at its field, and at its line. @param {Problem | null} problem */
function tell(problem) {
  form.tell(problem);
  const place = part("text-problem");
  place.hidden = !problem;
  place.replaceChildren();
  text.toggleAttribute("aria-invalid", Boolean(problem));
  number(problem?.line ?? null);
  if (!problem) return;
  place.append(element("p", {}, problem.message));
  if (problem.help) place.append(element("p", { class: "help" }, problem.help));
  running?.abort();
  results.stale(true);
  say("The scenario is not right yet.");
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;
text.addEventListener("input", () => {
  chosen().text = text.value;
  number();
  clearTimeout(typing);
  typing = setTimeout(() => void send(), TYPED);
});
text.addEventListener("scroll", () => (gutter.scrollTop = text.scrollTop));

// --- Runs ---

const results = new Results((id) => void file(id, `${id}.svg`, "image/svg+xml"));
/** @type {AbortController | null} */
let running = null;
let begun = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let again;

/** @param {string} words @param {number | null} [share] */
function say(words, share = null) {
  if (status.textContent !== words) status.textContent = words;
  progress.value = share ?? 1;
  progress.classList.toggle("done", share === null);
}

/** Something that should not be. @param {unknown} error */
function fail(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const place = part("problem");
  place.hidden = false;
  place.textContent =
    error instanceof TypeError
      ? "The lab does not answer: is it still running?"
      : String(/** @type {any} */ (error)?.message ?? error);
  say("");
}

const asked = (/** @type {State["variants"]} */ variants) => ({ tab, variants, beside: state.beside });

/** Computes what is wanted now. A quick run before it is shown first, a slow one ends. */
function compute() {
  clearTimeout(again);
  again = undefined;
  const left = begun + PATIENCE - performance.now();
  if (running && left > 0) {
    again = setTimeout(compute, left);
    return;
  }
  void run();
}

async function run() {
  running?.abort();
  const own = new AbortController();
  running = own;
  begun = performance.now();
  computed = wanted();
  results.stale(true);
  try {
    await follow("/api/run", asked(state.variants), own.signal, (name, data) => {
      if (running !== own) return;
      part("problem").hidden = true;
      if (name === "pictures") {
        results.draw(data.columns);
        count("drawn");
        say(`${Math.round(100 * data.share)} % computed`, data.share);
      } else if (name === "results") {
        results.draw(data.columns);
        results.find(data.found, state.variants.length > 1);
        results.stale(false);
        say(`${tidy(data.wall_s)} s for ${millions(data.segments)} segments`);
        count("drawn");
        count("complete");
      } else if (name === "refused") {
        refused(data);
      }
    });
  } catch (error) {
    fail(error);
  }
  if (running === own) running = null;
  // A change has waited for this one.
  if (again) {
    clearTimeout(again);
    again = undefined;
    if (wanted() !== computed) void run();
  }
}

let computed = "";
/** What is wanted now. */
const wanted = () => JSON.stringify([state.variants, state.beside]);

/** @param {{variant: number, problem: Problem}} data */
function refused({ variant, problem }) {
  if (variant === state.chosen) tell(problem);
  const place = part("problem");
  place.hidden = false;
  const whose = state.variants.length > 1 ? `${state.variants[variant].name}: ` : "";
  place.replaceChildren(
    element("p", {}, whose + problem.message),
    ...(problem.help ? [element("p", { class: "help" }, problem.help)] : []),
  );
  say("");
}

/** For tests: how often curves were drawn, and how often runs were shown to their end. @param {"drawn" | "complete"} what */
function count(what) {
  document.body.dataset[what] = String(Number(document.body.dataset[what] ?? 0) + 1);
}

const tidy = (/** @type {number} */ value) => Number(value.toPrecision(2)).toString();
const millions = (/** @type {number} */ count) =>
  count >= 1e6 ? `${tidy(count / 1e6)} million` : String(count);

// --- Variants ---

function list() {
  const several = state.variants.length > 1;
  const buttons = state.variants.map(({ name }, at) => {
    const button = element("button", { type: "button", "aria-pressed": String(at === state.chosen) }, name);
    button.addEventListener("click", () => choose(at));
    return button;
  });
  const add = element(
    "button",
    { type: "button", class: "add", title: "Compare with a copy of this variant" },
    "+ Variant",
  );
  add.disabled = state.variants.length >= MOST;
  add.addEventListener("click", () => {
    const name =
      LETTERS.find((letter) => state.variants.every((it) => it.name !== letter)) ??
      `V${state.variants.length + 1}`;
    state.variants.splice(state.chosen + 1, 0, { name, text: chosen().text });
    choose(state.chosen + 1);
    compute();
  });
  const remove = element("button", { type: "button", title: `Remove variant ${chosen().name}` }, "Remove");
  remove.addEventListener("click", () => {
    state.variants.splice(state.chosen, 1);
    choose(Math.max(state.chosen - 1, 0));
    compute();
  });
  const beside = element("button", { type: "button", "aria-pressed": String(state.beside) }, "Side by side");
  beside.addEventListener("click", () => {
    state.beside = !state.beside;
    list();
    compute();
    settle();
  });
  part("variants").replaceChildren(...(several ? buttons : []), add, ...(several ? [remove, beside] : []));
}

/** @param {number} at */
function choose(at) {
  changes.clear();
  state.chosen = at;
  list();
  write(chosen().text);
  void send();
}

/** Another scenario in the place of the variant that is chosen. @param {string} words */
function replace(words) {
  changes.clear();
  chosen().text = words;
  write(words);
  void send();
}

// --- The address, and files ---

/** @type {ReturnType<typeof setTimeout> | undefined} */
let settling;
let own = "";
/** Soon the address holds what is shown. */
function settle() {
  clearTimeout(settling);
  settling = setTimeout(async () => {
    own = await written(state);
    history.replaceState(null, "", own);
  }, SETTLED);
}

/** Takes the scenario of the address, if it has one. */
async function arrive() {
  const given = await read(location.hash);
  if (given) Object.assign(state, given);
  return given !== null;
}

addEventListener("hashchange", async () => {
  if (location.hash === own) return;
  try {
    if (await arrive()) choose(state.chosen);
  } catch (error) {
    fail(error);
  }
});

part("link").addEventListener("click", async () => {
  own = await written(state);
  history.replaceState(null, "", own);
  await copied(/** @type {HTMLButtonElement} */ (part("link")), location.href);
});

/** A file that the server makes of the results. @param {string} what @param {string} name @param {string} type */
async function file(what, name, type) {
  try {
    const variants = what === "report" ? [chosen()] : state.variants;
    const answer = await ask("/api/export", { what, run: { ...asked(variants), tab: `${tab}-file` } });
    if (answer.problem) refused({ variant: state.chosen, problem: answer.problem });
    else save(name, new Blob([answer.file], { type }));
  } catch (error) {
    fail(error);
  }
}

part("export").addEventListener("click", (event) => {
  const what = /** @type {HTMLElement} */ (event.target).dataset?.export;
  if (!what) return;
  /** @type {HTMLDetailsElement} */ (part("export")).open = false;
  if (what === "toml") save("scenario.toml", new Blob([chosen().text], { type: "application/toml" }));
  if (what === "csv") save("tables.csv", new Blob([results.toCSV()], { type: "text/csv" }));
  if (what === "report") void file("report", "report.html", "text/html");
});

part("toggle-text").addEventListener("click", (event) => {
  const button = /** @type {HTMLElement} */ (event.currentTarget);
  const hidden = part("text-pane").toggleAttribute("hidden");
  document.body.classList.toggle("no-text", hidden);
  button.setAttribute("aria-pressed", String(!hidden));
});

// --- Emulation ---

/** @type {AbortController | null} */
let emulating = null;

async function emulate() {
  const button = part("emulate");
  if (emulating) {
    emulating.abort();
    return;
  }
  running?.abort();
  const own = new AbortController();
  emulating = running = own;
  button.textContent = "Stop";
  /** @type {Live | null} */
  let live = null;
  let due = 0;
  const paint = () => {
    due = 0;
    if (live) results.draw(live.columns());
    if (live)
      say(
        "The kernel's own TCP, as it happens",
        Math.min((performance.now() - live.begun) / 1000 / live.duration, 1),
      );
  };
  say("Setting up hosts", 0);
  part("problem").hidden = true;
  try {
    await follow("/api/emulate", asked([chosen()]), own.signal, (name, data) => {
      if (name === "emulating") live = new Live(data);
      if (name === "glimpse") live?.see(data);
      if (name === "glimpse") due ||= requestAnimationFrame(paint);
      if (name === "refused") refused(data);
      if (name === "emulated") {
        live = null;
        results.draw(data.columns);
        results.find(data.found, false);
        results.stale(false);
        say(faithful(data.emulation));
      }
    });
  } catch (error) {
    fail(error);
    say("The emulated run was stopped.");
  }
  live = null;
  emulating = null;
  if (running === own) running = null;
  button.textContent = "Emulate";
}

/** What the emulator says of its own error. @param {{lateness: {count: number, mean_s: number, p99_s: number}, doubts: string[]}} emulation */
function faithful({ lateness: { count, mean_s, p99_s }, doubts }) {
  const ms = (/** @type {number} */ seconds) => `${(seconds * 1000).toFixed(3)} ms`;
  const words = `Emulated: ${count} deliveries, late by ${ms(mean_s)} on the average, ${ms(p99_s)} at most in 99 of 100`;
  return doubts.length > 0 ? `DO NOT TRUST THIS RESULT: ${doubts.join("; ")}. ${words}` : words;
}

part("emulate").addEventListener("click", () => void emulate());

// --- Begin ---

gallery((words) => replace(words));
try {
  const { text: first, emulate } = await ask("/api/start");
  part("emulate").hidden = !emulate;
  let arrived = false;
  try {
    arrived = await arrive();
  } catch (error) {
    fail(error);
  }
  if (!arrived) state.variants = [{ name: "A", text: first }];
  choose(state.chosen);
} catch (error) {
  fail(error);
}
