// The report of a comparison answers, and says the same without scripts.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { alike, barriers, changed, clipboard, close, copied, root, run, scratch, visit } from "./harness.mjs";

const directory = scratch();
/** @type {string} */
let compared;

const report = (/** @type {string} */ name) => pathToFileURL(join(directory, name, "report.html")).href;

before(() => {
  run(
    "compare",
    "cubic",
    "reno",
    "--rate",
    "20 Mbit/s",
    "--rtt",
    "40 ms",
    "--duration",
    "10 s",
    "--out",
    join(directory, "compared"),
  );
  compared = report("compared");
});
after(close);

/** The chart with this title. @param {import("playwright-core").Page} page @param {string} title */
const chart = (page, title) => page.locator("figure.live", { hasText: title });

/** Moves the pointer to a share of a chart's width. @param {import("playwright-core").Locator} chart @param {number} share */
async function point(chart, share) {
  const box = await chart.locator(".u-over").boundingBox();
  assert.ok(box);
  await chart.page().mouse.move(box.x + box.width * share, box.y + box.height / 2);
  return box;
}

/** What the horizontal axes show, from the CSV of each picture: the first and the last time. @param {import("playwright-core").Locator} chart */
async function span(chart) {
  const rows = await csvOf(chart);
  const times = rows.slice(1).map((row) => Number(row.split(",")[0]));
  return [times[0], times[times.length - 1]];
}

/** The CSV that a chart's button copies. @param {import("playwright-core").Locator} chart */
async function csvOf(chart) {
  const page = chart.page();
  await clipboard(page);
  const details = chart.locator("details.numbers");
  if (!(await details.evaluate((it) => /** @type {HTMLDetailsElement} */ (it).open)))
    await details.locator("summary").click();
  await details.getByRole("button").click();
  const text = await copied(page);
  return text.trim().split("\r\n");
}

test("the pointer shows values in all pictures", () =>
  visit(compared, async (page) => {
    const [throughput, cwnd] = [chart(page, "Throughput"), chart(page, "cwnd (segments)")];
    await point(throughput, 0.5);
    await page.waitForFunction(
      () => [...document.querySelectorAll(".chart .place")].filter((it) => it.textContent).length >= 2,
    );
    const text = await throughput.locator(".place").textContent();
    assert.match(text ?? "", /^[45]\.\d+\u00a0s$/);
    assert.equal(text, await cwnd.locator(".place").textContent(), "the same instant");
    for (const value of await cwnd.locator(".value").allTextContents()) assert.match(value, /^\d/);
  }));

test("a picture out of sight says the same when it is looked at", () =>
  visit(
    compared,
    async (page) => {
      const charts = page.locator("figure:not(.packets):visible:has(script)");
      const [first, last] = [charts.first(), charts.last()];
      const look = (/** @type {import("playwright-core").Locator} */ at) =>
        at.evaluate((it) => it.scrollIntoView());
      const [seen, away] = [first.locator(".place"), last.locator(".place")];
      await look(last); // a picture answers once it has been in sight
      await away.waitFor({ state: "attached" });
      await look(first);
      await seen.waitFor({ state: "attached" });
      const below = await last.evaluate((it) => it.getBoundingClientRect().top - innerHeight);
      assert.ok(below > 250, `only ${below} pixels below what is seen`);
      await first.locator(".plot").focus();
      await page.keyboard.press("ArrowRight");
      const said = (await seen.textContent()) ?? "";
      assert.match(said, /\d/);
      const place = await away.elementHandle();
      const says = (/** @type {string} */ text) =>
        page.waitForFunction(
          ([place, text]) => place?.textContent === text,
          /** @type {const} */ ([place, text]),
        );
      await look(last);
      await says(said);
      await look(first);
      await first.locator(".u-over").dispatchEvent("mouseleave");
      await look(last);
      await says("");
    },
    { width: 900, height: 400 },
  ));

test("one zoom for all pictures, and the whole run again", () =>
  visit(compared, async (page) => {
    const [throughput, cwnd] = [chart(page, "Throughput"), chart(page, "cwnd (segments)")];
    const box = await point(throughput, 0.25);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 });
    await page.mouse.up();
    for (const it of [throughput, cwnd]) {
      const [from, to] = await span(it);
      assert.ok(from > 2 && from < 3 && to > 4.5 && to < 5.5, `${from} to ${to}`);
    }
    await page.getByRole("button", { name: "Whole run" }).click();
    const [from, to] = await span(cwnd);
    assert.ok(from < 0.1 && to > 9.9, `${from} to ${to}`);
  }));

test("no picture stays behind when one is zoomed quickly", () =>
  visit(compared, async (page) => {
    const settled = () =>
      page.evaluate(async () => {
        for (let frame = 0; frame < 30; frame++) await new Promise(requestAnimationFrame);
        return [...document.querySelectorAll("canvas:not(.stage, .overview)")].map((it) =>
          /** @type {HTMLCanvasElement} */ (it).toDataURL(),
        );
      });
    const before = await settled();
    assert.ok(before.length > 3, `${before.length} pictures`);
    await chart(page, "Throughput")
      .locator(".u-over")
      .evaluate(async (over) => {
        const { left, width, top } = over.getBoundingClientRect();
        for (let turn = 0; turn < 40; turn++) {
          const zoom = { deltaY: -40, ctrlKey: true, bubbles: true, cancelable: true };
          over.dispatchEvent(
            new WheelEvent("wheel", { clientX: left + width / 3, clientY: top + 50, ...zoom }),
          );
          if (turn % 4 === 0) await new Promise(requestAnimationFrame);
        }
      });
    const zoomed = await settled();
    // All are drawn anew when a curve is switched off and on again.
    const entry = chart(page, "Throughput").locator("button.entry").first();
    await entry.click();
    await settled();
    await entry.click();
    const anew = await settled();
    zoomed.forEach((it, number) => {
      assert.notEqual(it, before[number], `picture ${number} is zoomed`);
      assert.ok(it === anew[number], `picture ${number} shows what it should`);
    });
  }));

test("the keyboard does the same", () =>
  visit(compared, async (page) => {
    const cwnd = chart(page, "cwnd (segments)");
    await cwnd.locator(".plot").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".chart .said")].some((it) =>
        /s, cubic \d+.*, reno \d+/.test(it.textContent ?? ""),
      ),
    );
    const place = await cwnd.locator(".place").textContent();
    assert.match(place ?? "", /\d/);
    assert.equal(await chart(page, "Throughput").locator(".place").textContent(), place, "the same instant");
    await page.keyboard.press("+");
    const [from, to] = await span(cwnd);
    assert.ok(from > 2 && to < 8, `${from} to ${to}`);
    await cwnd.locator(".plot").focus();
    await page.keyboard.press("0");
    assert.ok((await span(cwnd))[0] < 0.1);
  }));

test("a curve is switched off everywhere", () =>
  visit(compared, async (page) => {
    const [throughput, cwnd] = [chart(page, "Throughput"), chart(page, "cwnd (segments)")];
    await throughput.getByRole("button", { name: "reno" }).click();
    await page.waitForFunction(() => document.querySelectorAll('.entry[aria-pressed="false"]').length >= 2);
    assert.equal((await csvOf(cwnd))[0], "time (s),cubic (segments)");
    await throughput.getByRole("button", { name: "reno" }).click();
    assert.equal((await csvOf(cwnd))[0], "time (s),cubic (segments),reno (segments)");
  }));

test("values relative to a baseline, and on a logarithmic axis", () =>
  visit(compared, async (page) => {
    const cwnd = chart(page, "cwnd");
    await page.getByLabel("log values").check();
    await page.getByRole("combobox").selectOption("reno");
    await chart(page, "cwnd (relative to reno)").waitFor();
    const rows = (await csvOf(cwnd.first())).map((row) => row.split(","));
    assert.deepEqual(rows[0], ["time (s)", "cubic (relative)", "reno (relative)"]);
    assert.ok(
      rows.slice(1).every(([, , reno]) => reno === "1" || reno === ""),
      "the baseline is one",
    );
  }));

test("a table sorts, and copies as CSV", () =>
  visit(compared, async (page) => {
    const table = page.locator("table", { hasText: "goodput" });
    const names = () => table.locator("tbody tr td:first-child").allTextContents();
    await table.getByRole("button", { name: "control" }).click();
    assert.deepEqual(await names(), ["cubic", "reno"]);
    await table.getByRole("button", { name: "control" }).click();
    assert.deepEqual(await names(), ["reno", "cubic"]);
    assert.equal(await table.locator("th").first().getAttribute("aria-sort"), "descending");
    await table.getByRole("button", { name: "goodput" }).click();
    const goodputs = await table.locator("tbody tr td:nth-child(4)").allTextContents();
    assert.ok(Number(goodputs[0]) >= Number(goodputs[1]));
    await clipboard(page);
    await page.locator(".copies").first().click();
    const text = await copied(page);
    assert.match(text, /^control,flows,n,goodput Mbit\/s,/);
  }));

test("labels stay text", () => {
  const label = '</script><script>alert(1)</script><img src=x onerror="alert(2)">';
  const scenario = readFileSync(join(root, "scenarios/first.toml"), "utf8")
    .replace('"60 s"]', '"5 s"]')
    .replace('"10 s",', '"1 s",')
    .replace('duration = "60 s"', 'duration = "5 s"')
    .replace(/\[\[expect\]\][\s\S]*/, "");
  writeFileSync(
    join(directory, "label.toml"),
    `${scenario}label = '${label}'\n[[flows]]\ncontrol = "cubic"\n`,
  );
  run("run", join(directory, "label.toml"), "--out", join(directory, "labelled"));
  return visit(report("labelled"), async (page) => {
    await chart(page, "cwnd (segments)").waitFor();
    assert.equal(await page.locator("figure .entry .name").first().textContent(), label);
    assert.equal(await page.locator("img").count(), 0);
  });
});

test("without scripts the still pictures are there", () =>
  visit(
    compared,
    async (page) => {
      assert.equal(await page.locator("figure.live").count(), 0);
      const pictures = page.locator("figure > svg");
      assert.ok((await pictures.count()) >= 4);
      assert.ok(await pictures.first().isVisible());
      assert.equal(await page.locator("button").count(), 0);
    },
    { scripts: false },
  ));

test("the numbers of a picture are a table", () =>
  visit(compared, async (page) => {
    const cwnd = chart(page, "cwnd (segments)");
    await cwnd.locator("details.numbers summary").click();
    assert.deepEqual(await cwnd.locator("th").allTextContents(), [
      "time (s)",
      "cubic (segments)",
      "reno (segments)",
    ]);
    assert.ok((await cwnd.locator("tbody tr").count()) > 50);
  }));

for (const theme of /** @type {const} */ (["light", "dark"])) {
  test(`axe finds nothing, ${theme}, and the picture is the one that is kept`, () =>
    visit(
      compared,
      async (page) => {
        const cwnd = chart(page, "cwnd (segments)");
        await cwnd.waitFor();
        assert.deepEqual(await barriers(page), []);
        await page.mouse.move(0, 0);
        await alike(`cwnd-${theme}`, cwnd);
      },
      { theme },
    ));
}

test("a picture without its curves is another one", () =>
  visit(compared, async (page) => {
    const cwnd = chart(page, "cwnd (segments)");
    for (const name of ["cubic", "reno"]) {
      await cwnd.getByRole("button", { name }).click();
      await cwnd.locator('.entry[aria-pressed="false"]', { hasText: name }).waitFor();
      await page.mouse.move(0, 0);
      const what = (await changed("cwnd-light", cwnd)) ?? "nothing";
      assert.match(what, /of what is drawn in plot 0 of cwnd-light differs/);
    }
  }));
