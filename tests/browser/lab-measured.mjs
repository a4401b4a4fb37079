// How fast the lab answers: `make lab-measured`. The numbers are in docs/src/lab.md. A loaded machine is slower,
// so nothing here can fail.

import { close, serve, visit } from "./harness.mjs";

/** Moves of the slider that are timed. */
const MOVES = 40;

const lab = await serve(["lab", "--listen", "127.0.0.1:0"]);
const words = (/** @type {number[]} */ times) => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(0);
  return `median ${at(0.5)} ms, nine tenths within ${at(0.9)} ms, longest ${at(1)} ms`;
};

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
    const frames = await page.evaluate(async () => {
      const over = /** @type {HTMLElement} */ (document.querySelector(".u-over"));
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
    console.log(`a frame while zooming: ${words(frames)}`);
  },
  { width: 1280, height: 900 },
);
await close();
await lab.stop();
