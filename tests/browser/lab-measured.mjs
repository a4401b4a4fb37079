// How fast the lab and large reports answer: `make lab-measured`. The numbers are in docs/src/lab.md and
// docs/src/output.md. A loaded machine is slower, so nothing here can fail.

import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { close, run, scratch, serve, visit } from "./harness.mjs";

/** Moves of the slider that are timed. */
const MOVES = 40;

const lab = await serve(["lab", "--listen", "127.0.0.1:0"]);
const words = (/** @type {number[]} */ times) => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(0);
  return `median ${at(0.5)} ms, nine tenths within ${at(0.9)} ms, longest ${at(1)} ms`;
};

/** Zooms in and out over a plot, and times each frame, ms. @param {import("playwright-core").Locator} plot */
const zooming = (plot) =>
  plot.evaluate(async (over) => {
    const { left, top, width } = over.getBoundingClientRect();
    const times = [];
    let last = performance.now();
    for (let at = 0; at < 120; at++) {
      const clientX = left + (width * at) / 120;
      over.dispatchEvent(new MouseEvent("mousemove", { clientX, clientY: top + 50, bubbles: true }));
      over.dispatchEvent(
        new WheelEvent("wheel", {
          clientX,
          clientY: top + 50,
          deltaY: at % 20 < 10 ? -60 : 60,
          ctrlKey: true,
          bubbles: true,
          cancelable: true,
        }),
      );
      const now = await new Promise(requestAnimationFrame);
      times.push(now - last);
      last = now;
    }
    return times.slice(5);
  });

await visit(
  lab.url,
  async (page) => {
    const paint = await page.evaluate(
      () =>
        new Promise((/** @type {(at: number) => void} */ done) =>
          new PerformanceObserver((list) => done(list.getEntries()[0].startTime)).observe({
            type: "paint",
            buffered: true,
          }),
        ),
    );
    console.log(`first paint: ${paint.toFixed(0)} ms`);
    await page.waitForFunction(() => document.body.dataset.complete, null, { timeout: 60_000 });
    const { first, all } = await page.evaluate(async (moves) => {
      const slider = /** @type {HTMLInputElement} */ (document.querySelector('#form input[type="range"]'));
      const frame = () => new Promise(requestAnimationFrame);
      const [first, all] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
      for (let move = 0; move < moves; move++) {
        const { drawn = "0", complete = "0" } = document.body.dataset;
        const begun = performance.now();
        slider.value = String(580 + (move % 20));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        while (document.body.dataset.drawn === drawn) await frame();
        await frame();
        first.push(performance.now() - begun);
        while (document.body.dataset.complete === complete) await frame();
        all.push(performance.now() - begun);
      }
      return { first, all };
    }, MOVES);
    console.log(`from a slider's move to new curves on the screen: ${words(first)}`);
    console.log(`from a slider's move to all of the run: ${words(all)}`);
    console.log(`a frame while zooming: ${words(await zooming(page.locator(".u-over").first()))}`);
  },
  { width: 1280, height: 900 },
);
await lab.stop();

// --- Reports ---

const directory = scratch();

/**
 * Makes a report, and times how it opens and zooms.
 * @param {string} what @param {string} text  the scenario @param {string} title  of the picture that is zoomed
 */
async function report(what, text, title) {
  const [file, out] = [join(directory, "scenario.toml"), join(directory, "out")];
  writeFileSync(file, text);
  run("run", file, "--out", out);
  const page = join(out, "report.html");
  await visit(pathToFileURL(page).href, async (page_) => {
    const plot = page_.locator("figure.live", { hasText: title }).first().locator(".u-over");
    const { shown, loaded } = await page_.evaluate(async () => {
      while (!document.querySelector(".u-over")) await new Promise(requestAnimationFrame);
      const shown = performance.now();
      const [loading] = performance.getEntriesByType("navigation");
      return { shown, loaded: /** @type {PerformanceNavigationTiming} */ (loading).loadEventEnd };
    });
    const size = (statSync(page).size / 1e6).toFixed(2);
    console.log(
      `${what}: ${size} MB, loaded after ${loaded.toFixed(0)} ms, answers after ${shown.toFixed(0)} ms`,
    );
    await page_.locator("figure", { hasText: title }).first().scrollIntoViewIfNeeded();
    await plot.waitFor();
    console.log(`${what}, a frame while zooming: ${words(await zooming(plot))}`);
  });
}

const link = (/** @type {string} */ rate) =>
  `[topology.dumbbell]\nbottleneck = { rate = "${rate}", delay = "20 ms", queue = { droptail = "1 bdp" } }\n`;
const groups = ["cubic", "reno"].map((control) => `[[flows]]\ncontrol = "${control}"\ncount = 5\n`);
await report(
  "ten flows over 400 s",
  `duration = "400 s"\n${link("100 Mbit/s")}${groups.join("")}`,
  "cwnd (segments)",
);
// Each segment is sent, delivered, and acknowledged: 8333 of 1500 B in a second.
await report(
  "a million points",
  `duration = "42 s"\n${link("100 Mbit/s")}[[flows]]\ncontrol = "cubic"\nfollow = 1\n`,
  "Segments of cubic (number)",
);
await close();
