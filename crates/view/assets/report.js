// What a report does beside its still pictures: they answer, its tables sort and copy.

import { Group, controls, draw } from "./charts.js";
import { Animation } from "./packets.js";
import { answers } from "./tables.js";

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
  const place = table.closest(".wide") ?? table;
  if (table.tHead) place.after(answers(table));
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
