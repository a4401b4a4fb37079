// A followed flow: its segments one by one, and the animation of its queue. A sweep: its maps. Sizes.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { alike, barriers, close, run, scratch, visit } from "./harness.mjs";

/** The most bytes of a report of ten flows over 400 s. */
const MAX_REPORT = 1_500_000;

const directory = scratch();
const report = (/** @type {string} */ name) => pathToFileURL(join(directory, name, "report.html")).href;

/** Runs a scenario over a slow link. @param {string} name @param {string} text @param {...string} flags */
function simulate(name, text, ...flags) {
  const link = '{ rate = "5 Mbit/s", delay = "20 ms", queue = { droptail = "30 packets" } }';
  const path = join(directory, `${name}.toml`);
  writeFileSync(
    path,
    `name = "${name}"\n${text.replace("[[", `[topology.dumbbell]\nbottleneck = ${link}\n[[`)}`,
  );
  run("run", path, "--out", join(directory, name), ...flags);
}

before(() => {
  const flows = '[[flows]]\ncontrol = "reno"\nfollow = 1\n[[flows]]\ncontrol = "cubic"\nstart = "1 s"\n';
  simulate("followed", `duration = "5 s"\n${flows}`, "--capture", "bottleneck");
  const axes =
    '"topology.dumbbell.bottleneck.rate" = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]\n"flows.0.control" = ["reno", "cubic"]\n';
  simulate("swept", `duration = "3 s"\n[[flows]]\ncontrol = "reno"\n[sweep]\n${axes}`);
  run("trace", join(directory, "followed/capture/bottleneck.pcapng"), "--out", join(directory, "traced"));
  const kernel = "crates/cli/tests/captures/kernel.pcapng";
  run("trace", kernel, "--stream", "1", "--out", join(directory, "kernel"));
});
after(close);

test("the animation of a queue goes step by step, plays and pauses", () =>
  visit(
    report("followed"),
    async (page) => {
      const animation = page.locator(".animation");
      const said = animation.locator(".event");
      const press = (/** @type {string} */ name) =>
        animation.getByRole("button", { name, exact: true }).click();
      await press("Step");
      assert.match(
        (await said.textContent()) ?? "",
        /^\d\.\d{6} s: a packet of reno comes; 0 are in the queue\.$/,
      );
      await press("Step");
      const second = await said.textContent();
      await press("Step");
      assert.notEqual(await said.textContent(), second);
      await press("Step back");
      assert.equal(await said.textContent(), second);
      await press("To the first drop");
      assert.match((await said.textContent()) ?? "", /is dropped; 30 are in the queue\.$/);
      assert.match(
        (await animation.locator(".entry").first().textContent()) ?? "",
        /30 in the queue, 1 dropped/,
      );
      await page.mouse.move(0, 0);
      await alike("queue", animation);
      const before = Number(await animation.getByRole("slider").inputValue());
      await press("Play");
      await page.waitForFunction(
        (before) =>
          Number(/** @type {HTMLInputElement | null} */ (document.querySelector(".animation input"))?.value) >
          before,
        before,
      );
      await press("Pause");
      assert.deepEqual(await barriers(page), []);
    },
    { height: 3000 },
  ));

test("the segments of a flow, simulated and captured", async () => {
  await visit(
    report("followed"),
    async (page) => {
      const segments = page.locator("figure", { hasText: "Segments of reno (number)" });
      const names = segments.locator(".name");
      await names.first().waitFor();
      assert.deepEqual(await names.allTextContents(), [
        "acknowledged + cwnd",
        "acknowledged",
        "delivered",
        "sent",
        "sent again",
        "acknowledged selectively",
        "dropped",
      ]);
      await page.mouse.move(0, 0);
      await alike("sequence", segments);
    },
    { height: 3000 },
  );
  await visit(report("traced"), async (page) => {
    const names = page.locator("figure.live", { hasText: "Bytes" }).first().locator(".name");
    await names.first().waitFor();
    const all = await names.allTextContents();
    for (const name of ["acknowledged", "sent", "acknowledged selectively"]) {
      assert.ok(all.includes(name), `${name} is not among ${all}`);
    }
    assert.deepEqual(await barriers(page), []);
  });
  await visit(report("kernel"), async (page) => {
    const bytes = page.locator("figure.live", { hasText: "Bytes" }).first();
    const names = bytes.locator(".name");
    await names.first().waitFor();
    assert.deepEqual(await names.allTextContents(), [
      "acknowledged",
      "window",
      "sent",
      "sent again",
      "acknowledged selectively",
    ]);
    // Far above all that was sent: without it segments and selective acknowledgements are bars.
    await bytes.getByRole("button", { name: "window" }).click();
    await page.mouse.move(0, 0);
    await alike("sequence-kernel", bytes);
    await page.locator("figure.live .heading", { hasText: "Outstanding data, in place of cwnd" }).waitFor();
  });
});

test("a map of a sweep leads to the point's own pictures", () =>
  visit(report("swept"), async (page) => {
    const map = page.locator("table.heat").first();
    assert.equal(await map.locator("tbody td").count(), 6);
    await alike("heat", map, "tbody");
    const link = map.locator("a").last();
    const point = page.locator(`[id="${(await link.getAttribute("href"))?.slice(1)}"]`);
    assert.equal(await point.getAttribute("open"), null);
    await link.click();
    await point.locator("figure.live").first().waitFor();
    assert.deepEqual(await barriers(page), []);
  }));

test("paper has what is closed on the screen, and is white", () =>
  visit(
    report("swept"),
    async (page) => {
      const closed = page.locator("details:not([open]) figure > svg");
      assert.ok((await closed.count()) > 4);
      const seen = () =>
        closed.evaluateAll((all) =>
          all.filter((it) => it.checkVisibility() && it.getBoundingClientRect().height > 50),
        );
      assert.equal((await seen()).length, 0);
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      assert.equal((await seen()).length, await closed.count());
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(ground, "rgb(255, 255, 255)");
      const hidden = await page
        .locator(".wide")
        .evaluateAll(
          (all) =>
            all.filter((it) => it.checkVisibility() && getComputedStyle(it).overflowX !== "visible").length,
        );
      assert.equal(hidden, 0, "nobody scrolls on paper");
      assert.equal(await page.locator("button:visible:not(.sorts)").count(), 0);
    },
    { theme: "dark" },
  ));

test("a report of ten flows over 400 s is small", () => {
  simulate(
    "ten",
    'duration = "400 s"\n[[flows]]\ncontrol = "cubic"\ncount = 5\n[[flows]]\ncontrol = "reno"\ncount = 5\n',
  );
  const { size } = statSync(join(directory, "ten/report.html"));
  assert.ok(size <= MAX_REPORT, `${size} bytes`);
});
