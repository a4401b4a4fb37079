// An emulated run as it happens: what becomes of its glimpses, and the page while the kernel's own TCP runs.

import { after, test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { close, scratch, serve, visit } from "./harness.mjs";
import { Live } from "../../crates/lab/assets/live.js";

test("a missed glimpse changes no throughput", () => {
  const begun = { flows: ["one"], links: ["bottleneck"], payload: [1250], duration: 1 };
  const live = new Live(begun);
  // 100 segments of 10 kbit in each tenth of a second: 10 Mbit/s.
  for (const tenth of [1, 2, 3, 7, 8, 10]) {
    live.see({ flow: 0, at: tenth / 10, cwnd: 1, rtt: 0.1, delivered: 100 * tenth, waiting: 0 });
  }
  const { ys } = live.columns()[0].charts.find(({ id }) => id === "throughput")?.curves[0] ?? {};
  assert.deepEqual(
    ys?.map((value) => Math.round(value * 1e6) / 1e6),
    [10, 10, 10, 10, 10, 10],
  );
});

after(close);

const scenario = (/** @type {string} */ duration) => `duration = "${duration}"
[topology.dumbbell]
bottleneck = { rate = "20 Mbit/s", delay = "10 ms", queue = { droptail = "1 bdp" } }
[[flows]]
label = "one"
control = "reno"
[[flows]]
label = "two"
control = "cubic"
`;

test("the kernel's own TCP is drawn as it happens, and stops", async (t) => {
  const file = join(scratch(), "scenario.toml");
  writeFileSync(file, scenario("60 s"));
  /** @type {Awaited<ReturnType<typeof serve>>} */
  let lab;
  try {
    lab = await serve(["lab", file, "--listen", "127.0.0.1:0", "--emulate"]);
  } catch (error) {
    // Without the rights there are no hosts to emulate.
    const why = String(error);
    if (!/network namespaces|\/dev\/net\/tun/.test(why)) throw error;
    console.error(`SKIPPED: the page of an emulated run: ${why}`);
    return t.skip(why);
  }
  try {
    await visit(
      lab.url,
      async (page) => {
        const status = page.locator("#status");
        const says = (/** @type {string} */ words) =>
          page.waitForFunction(
            (words) => document.querySelector("#status")?.textContent?.includes(words),
            words,
          );
        await page.waitForFunction(() => document.body.dataset.complete);
        await page.getByRole("button", { name: "Emulate" }).click();
        await says("The kernel's own TCP, as it happens");
        const cwnd = page.locator("figure.live", { hasText: "cwnd (segments)" }).first();
        assert.deepEqual(await cwnd.locator(".name").allTextContents(), ["one", "two"]);
        await cwnd.locator("details.numbers summary").click();
        await page.waitForFunction(
          () => document.querySelectorAll("details.numbers[open] tbody tr").length > 10,
        );
        await page.getByRole("button", { name: "Stop" }).click();
        await says("The emulated run was stopped.");
        const before = await page.evaluate(() => document.body.dataset.complete);
        await page.locator("#text").fill(scenario("1 s"));
        await page.waitForFunction((before) => document.body.dataset.complete !== before, before);
        // Another page emulates at this moment.
        const problem = { message: "another emulated run is under way", help: null };
        const body = `event: refused\ndata: ${JSON.stringify({ variant: 0, problem })}\n\n`;
        const refusal = { contentType: "text/event-stream", body };
        await page.route("**/api/emulate", (route) => route.fulfill(refusal), { times: 1 });
        await page.getByRole("button", { name: "Emulate" }).click();
        await page.locator("#problem", { hasText: problem.message }).waitFor();
        // That run has ended.
        await page.getByRole("button", { name: "Emulate" }).click();
        await says("Emulated: ");
        assert.match((await status.textContent()) ?? "", /Emulated: \d+ deliveries, late by [\d.]+ ms/);
        assert.equal(await page.locator("#problem").isVisible(), false, "what was refused is past");
        assert.ok((await page.locator("#tables tbody tr").count()) >= 2);
      },
      { width: 1280, height: 900 },
    );
  } finally {
    await lab.stop();
  }
});
