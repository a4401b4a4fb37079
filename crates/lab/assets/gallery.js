// The gallery: every scenario that comes with the program, and every published experiment with its claims.

import { ask } from "./asking.js";
import { element } from "./elements.js";

/**
 * @typedef {{id: string, title: string, about: string}} Scenario
 * @typedef {{text: string, that?: string, untestable?: string}} Claim
 * @typedef {{id: string, work: string, section: string, title: string, about: string, scenarios: string[], claims: Claim[]}} Experiment
 */

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("gallery"));
const list = /** @type {HTMLElement} */ (document.getElementById("gallery-list"));
const search = /** @type {HTMLInputElement} */ (document.getElementById("search"));

/** @param {(text: string, title: string) => void} choose */
export function gallery(choose) {
  let filled = false;
  const pick = async (/** @type {string} */ id, /** @type {string} */ name) => {
    const { text } = await ask("/api/scenario", { id, name });
    dialog.close();
    choose(text, name || id);
  };
  const fill = async () => {
    filled = true;
    const { scenarios, experiments } = await ask("/api/gallery");
    list.replaceChildren(
      element("h3", {}, "Scenarios"),
      ...scenarios.map((/** @type {Scenario} */ it) => scenario(it, pick)),
      element("h3", {}, "Published experiments"),
      ...experiments.map((/** @type {Experiment} */ it) => experiment(it, pick)),
    );
    filter();
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const item of list.querySelectorAll("article")) {
      const text = (item.textContent ?? "").toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
  };
  search.addEventListener("input", filter);
  document.getElementById("close-gallery")?.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.getElementById("open-gallery")?.addEventListener("click", () => {
    dialog.showModal();
    search.focus();
    if (!filled) void fill();
  });
}

/** @param {Scenario} it @param {(id: string, name: string) => void} pick */
function scenario({ id, title, about }, pick) {
  const open = element("button", { type: "button", class: "pick" }, title);
  open.addEventListener("click", () => pick(id, ""));
  return element("article", {}, element("h4", {}, open, element("code", {}, id)), element("p", {}, about));
}

/** @param {Experiment} it @param {(id: string, name: string) => void} pick */
function experiment({ id, work, section, title, about, scenarios, claims }, pick) {
  const opens = scenarios.map((name) => {
    const open = element("button", { type: "button", class: "pick" }, name || title);
    open.addEventListener("click", () => pick(id, name));
    return open;
  });
  const heading = scenarios.length === 1 && !scenarios[0] ? opens : [element("span", {}, title)];
  const claimed = claims.map(({ text, that, untestable }) =>
    element(
      "li",
      {},
      text,
      " ",
      that ? element("code", {}, that) : element("span", { class: "muted" }, `not testable: ${untestable}`),
    ),
  );
  return element(
    "article",
    {},
    element(
      "h4",
      {},
      ...heading,
      element("span", { class: "muted" }, `${work}, ${section}`),
      element("code", {}, id),
    ),
    element("p", {}, about),
    ...(heading === opens ? [] : [element("p", { class: "opens" }, ...opens)]),
    ...(claims.length > 0
      ? [
          element(
            "details",
            { class: "plain" },
            element("summary", {}, `${claims.length} claims`),
            element("ul", {}, ...claimed),
          ),
        ]
      : []),
  );
}
