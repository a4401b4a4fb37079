// What a report does beside its still pictures: they answer, its tables sort and copy.

import { Group, controls, draw } from "./charts.js";
import { copied, csv, element } from "./elements.js";
import { Animation } from "./packets.js";

/** A cell as a number, if it is one: the mean of `9.1 ± 0.2`. @param {string} text */
function number(text) {
  const read = Number.parseFloat(text.replaceAll("\u202f", ""));
  return /^-$|^–$|^$/.test(text) ? -Infinity : /^[-+.\d]/.test(text) ? read : NaN;
}

/** Sorts the rows of a table by one column. @param {HTMLTableElement} table @param {number} column @param {boolean} falling */
function sort(table, column, falling) {
  const rows = [...table.tBodies[0].rows];
  const text = (/** @type {HTMLTableRowElement} */ row) => row.cells[column]?.textContent?.trim() ?? "";
  const numeric = rows.every((row) => !Number.isNaN(number(text(row))));
  const compare = (/** @type {HTMLTableRowElement} */ a, /** @type {HTMLTableRowElement} */ b) =>
    numeric
      ? number(text(a)) - number(text(b)) || 0
      : text(a).localeCompare(text(b), "en", { numeric: true });
  rows.sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
  table.tBodies[0].append(...rows);
}

/** Makes the head of a table a row of buttons that sort. @param {HTMLTableElement} table */
function sorts(table) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  heads.forEach((head, column) => {
    if (!head.textContent?.trim()) return;
    const button = element("button", { type: "button", class: "sorts" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // Numbers begin with the greatest, words with the first.
      const before = head.getAttribute("aria-sort");
      const falling = before ? before === "ascending" : !head.classList.contains("word");
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      sort(table, column, falling);
    });
  });
}

/** The rows of a table as texts. @param {HTMLTableElement} table */
const texts = (table) =>
  [...table.rows].map((row) =>
    [...row.cells].map((cell) => (cell.textContent ?? "").trim().replace(/\s+/g, " ")),
  );

/** What is wider than its place can be scrolled by the keyboard, too. */
function reachable() {
  for (const box of document.querySelectorAll(".wide, pre")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) {
      box.setAttribute("tabindex", "0");
      box.setAttribute("role", "group");
      if (!box.hasAttribute("aria-label"))
        box.setAttribute("aria-label", box instanceof HTMLPreElement ? "Text" : "Table");
    }
  }
}

/** Opens the section that the address names. */
function open() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

for (const table of document.querySelectorAll("table")) {
  if (!table.tHead) continue;
  const copy = element("button", { type: "button", class: "copies" }, "Copy as CSV");
  copy.addEventListener("click", () => copied(copy, csv(texts(table))));
  if (table.tBodies[0].rows.length > 1 && !table.classList.contains("heat")) sorts(table);
  (table.closest(".wide") ?? table).after(element("div", { class: "tools" }, copy));
}

const group = new Group();
const figures = [...document.querySelectorAll("figure")].filter((figure) =>
  figure.querySelector('script[type="application/json"]'),
);
// A picture becomes one that answers when it comes into sight: a report has hundreds.
const sight = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      sight.unobserve(target);
      const figure = /** @type {HTMLElement} */ (target);
      const data = JSON.parse(figure.querySelector("script")?.textContent ?? "");
      if (figure.classList.contains("packets")) new Animation(figure, data);
      else draw(figure, data, { group });
    }
  },
  { rootMargin: "300px" },
);
for (const figure of figures) sight.observe(figure);
if (figures.length > 0) {
  const bar = controls(group);
  bar.classList.add("bar");
  document.querySelector("main")?.prepend(bar);
}

reachable();
addEventListener("resize", reachable);
addEventListener("hashchange", open);
open();
