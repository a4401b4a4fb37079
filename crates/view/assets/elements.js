// Elements of a page, and numbers and tables as text.

/**
 * An element with these attributes and children; a string is text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A whole number with thin spaces between thousands. @param {number} value */
const grouped = (value) => value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** A number for an axis. @param {number} value */
export function tidy(value) {
  const size = Math.abs(value);
  if (size >= 1000 && Number.isInteger(value)) return grouped(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return Number(value.toPrecision(7)).toExponential();
  return String(Number(value.toFixed(9)));
}

/** A number that was measured: four digits. @param {number} value */
export function measured(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "–";
  if (size === 0) return "0";
  if (size >= 1000 && size < 1e7) return grouped(value);
  if (size < 1e-3 || size >= 1e7) return value.toExponential(3);
  return Number(value.toPrecision(4)).toString();
}

/** A number for CSV: its shortest form at the precision of what is stored. @param {number} value */
export const exact = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(9))) : "");

/** A cell of CSV. What a spreadsheet would take for a formula gets an apostrophe. @param {string} text */
function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV. @param {string[][]} rows */
export const csv = (rows) => rows.map((row) => row.map(quoted).join(",") + "\r\n").join("");

/** Copies a text, and says so on the button. @param {HTMLButtonElement} button @param {string} text */
export async function copied(button, text) {
  const before = button.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from a file, or an old browser: the way by a selection needs no permission.
    const area = element("textarea", { class: "said", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), 1200);
}
