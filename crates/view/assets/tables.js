// Tables that answer: their heads sort, and a button copies them as CSV.

import { copied, csv, element } from "./elements.js";

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

/** By which column a table is sorted; none: as it came. @typedef {{column: number, falling: boolean}} Order */

/** Makes the head of a table a row of buttons that sort. @param {HTMLTableElement} table @param {Order} order */
function sorts(table, order) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const show = () => {
    heads.forEach((head, column) => {
      if (column !== order.column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
    });
    if (heads[order.column]) sort(table, order.column, order.falling);
  };
  heads.forEach((head, column) => {
    if (!head.textContent?.trim()) return;
    const button = element("button", { type: "button", class: "sorts" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // Numbers begin with the greatest, words with the first.
      order.falling = column === order.column ? !order.falling : !head.classList.contains("word");
      order.column = column;
      show();
    });
  });
  show();
}

/** The rows of a table as texts. @param {HTMLTableElement} table */
const texts = (table) =>
  [...table.rows].map((row) =>
    [...row.cells].map((cell) => (cell.textContent ?? "").trim().replace(/\s+/g, " ")),
  );

/**
 * Makes a table answer. What comes back is to stand behind it. `order` is kept up to date, so that the same table
 * with other numbers can be sorted like this one.
 * @param {HTMLTableElement} table @param {Order} [order]
 */
export function answers(table, order = { column: -1, falling: false }) {
  const copy = element("button", { type: "button", class: "copies" }, "Copy as CSV");
  copy.addEventListener("click", () => copied(copy, csv(texts(table))));
  if (table.tBodies[0].rows.length > 1 && !table.classList.contains("heat")) sorts(table, order);
  return element("div", { class: "tools" }, copy);
}
