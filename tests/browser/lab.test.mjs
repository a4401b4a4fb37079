// The lab in a browser: form, text, curves and address follow each other.

import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  ELSEWHERE,
  alike,
  barriers,
  clipboard,
  close,
  copied,
  held,
  scratch,
  serve,
  visit,
} from "./harness.mjs";
import { written } from "../../crates/lab/assets/address.js";

/** @typedef {import("playwright-core").Page} Page */

const directory = scratch();
const file = join(directory, "scenario.toml");
/** @type {Awaited<ReturnType<typeof serve>>} */
let lab;

const SCENARIO = `# Two flows on one link.
name = "two flows"
duration = "5 s"   # short

[topology.dumbbell]
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "1 bdp" } }  # narrow

[[flows]]
label = "one"
control = "reno"

[[flows]]
label = "<img src=x onerror=alert(1)>"
control = "cubic"

[[expect]]
that = "utilisation('bottleneck') > 0.5"

[[expect]]
that = "goodput('one') > 1e9"
`;

before(async () => {
  writeFileSync(file, SCENARIO);
  lab = await serve(["lab", file, "--listen", "127.0.0.1:0"]);
});
after(async () => {
  await close();
  await lab.stop();
});

const LOOK = { width: 1280, height: 900 };

/** How many runs the page has shown to their end. @param {Page} page */
const completed = (page) => page.evaluate(() => Number(document.body.dataset.complete ?? 0));

/** Waits until a run that begins now, or is under way, is shown. @param {Page} page @param {number} before */
const shown = (page, before) =>
  page.waitForFunction((count) => Number(document.body.dataset.complete ?? 0) > count, before);

/** Opens the lab and waits for its first results. @param {(page: Page) => Promise<void>} test @param {object} [look] @param {string} [url] */
const inLab = (test, look = {}, url = lab.url) =>
  visit(
    url,
    async (page) => {
      await shown(page, 0);
      await test(page);
    },
    { ...LOOK, ...look },
  );

/** @param {Page} page */
const words = (page) => page.locator("#text").inputValue();

/** Moves a slider and waits for the run. @param {Page} page @param {string} label @param {number} step */
async function slide(page, label, step) {
  const count = await completed(page);
  await page.getByRole("slider", { name: label }).first().fill(String(step));
  await shown(page, count);
}

/** What a picture holds. @param {Page} page @param {string} title */
async function numbers(page, title) {
  const figure = page.locator("figure.live", { hasText: title }).first();
  await clipboard(page);
  const details = figure.locator("details.numbers");
  if (!(await details.evaluate((it) => /** @type {HTMLDetailsElement} */ (it).open)))
    await details.locator("summary").click();
  await details.getByRole("button").click();
  return copied(page);
}

test("the form changes the text, and the text the form", () =>
  inLab(async (page) => {
    const count = await completed(page);
    const rate = page.getByLabel("Rate", { exact: true }).first();
    await rate.fill("20 Mbit/s");
    await rate.press("Enter");
    await shown(page, count);
    assert.equal(await words(page), SCENARIO.replace("10 Mbit/s", "20 Mbit/s"), "comments and order stay");
    await page.locator("#text").fill(SCENARIO.replace("10 Mbit/s", "7 Mbit/s"));
    await page.waitForFunction(
      () =>
        /** @type {HTMLInputElement} */ (document.querySelector('#form input[type="text"]')).value ===
        "7 Mbit/s",
    );
    await page.getByLabel("Controller", { exact: true }).first().selectOption("vegas");
    await page.waitForFunction(() =>
      /** @type {HTMLTextAreaElement} */ (document.querySelector("#text")).value.includes(
        'control = "vegas"',
      ),
    );
  }));

test("a slider redraws", () =>
  inLab(async (page) => {
    const earlier = await numbers(page, "Throughput");
    await slide(page, "Rate", 300);
    const later = await numbers(page, "Throughput");
    assert.notEqual(earlier, later);
    assert.match(await words(page), /rate = "[\d.]+ [kM]bit\/s"/);
  }));

test("curves follow while a slider moves, and the last place wins", () =>
  inLab(async (page) => {
    const slider = page.getByRole("slider", { name: "Rate" }).first();
    const count = await completed(page);
    for (let step = 300; step <= 600; step += 10) {
      await slider.evaluate((it, to) => {
        /** @type {HTMLInputElement} */ (it).value = String(to);
        it.dispatchEvent(new Event("input", { bubbles: true }));
      }, step);
      await page.waitForTimeout(20);
    }
    await shown(page, count + 1);
    const value = await slider.getAttribute("aria-valuetext");
    await page.waitForFunction(
      (wanted) =>
        /** @type {HTMLTextAreaElement} */ (document.querySelector("#text")).value.includes(
          `rate = "${wanted}"`,
        ),
      value,
    );
  }));

/** Keeps from now on what the page asks to run. What it has asked for then. @param {Page} page */
async function recorded(page) {
  await page.evaluate(() => {
    /** @type {{text: string, aborted: boolean}[]} */
    const runs = [];
    Object.assign(globalThis, { runs });
    const fetch = globalThis.fetch;
    globalThis.fetch = (path, init) => {
      if (path === "/api/run") {
        const run = { text: JSON.parse(String(init?.body)).variants[0].text, aborted: false };
        init?.signal?.addEventListener("abort", () => (run.aborted = true));
        runs.push(run);
      }
      return fetch(path, init);
    };
  });
  return () =>
    page.evaluate(() => /** @type {{text: string, aborted: boolean}[]} */ (Reflect.get(globalThis, "runs")));
}

test("a thousand changes are one run, and leave nothing behind", () =>
  inLab(async (page) => {
    const runs = await recorded(page);
    const slider = page.getByRole("slider", { name: "Rate" }).first();
    const move = async (/** @type {number} */ times, /** @type {number} */ last) => {
      const count = await completed(page);
      const value = await slider.evaluate(
        async (it, [times, last]) => {
          const input = /** @type {HTMLInputElement} */ (it);
          for (let left = times - 1; left >= 0; left--) {
            input.value = String(left > 0 ? 300 + (left % 200) : last);
            input.dispatchEvent(new Event("input", { bubbles: true }));
            if (left % 20 === 1) await new Promise(requestAnimationFrame);
          }
          return input.getAttribute("aria-valuetext") ?? "";
        },
        [times, last],
      );
      await page.waitForFunction(
        ([value, count]) =>
          Number(document.body.dataset.complete) > Number(count) &&
          Reflect.get(globalThis, "runs").at(-1).text.includes(`rate = "${value}"`),
        [value, String(count)],
      );
      return value;
    };
    await move(100, 520);
    const before = await held(page);
    const value = await move(1000, 560);
    const count = await completed(page);
    await page.evaluate(() => new Promise((done) => setTimeout(done, 500)));
    const all = await runs();
    const last = all.filter(({ text }) => text.includes(`rate = "${value}"`));
    assert.equal(last.length, 1, "one run of the last place");
    assert.deepEqual([all.at(-1), last[0].aborted], [last[0], false], "and nothing after it");
    assert.ok((await completed(page)) <= count + 1 && all.length < 500, `${all.length} runs`);
    const after = await held(page);
    assert.ok(after.heap < before.heap + (4 << 20), `${before.heap} and ${after.heap} bytes`);
    assert.ok(after.nodes < before.nodes + 300, `${before.nodes} and ${after.nodes} nodes`);
  }));

test("one zoom for all pictures", () =>
  inLab(async (page) => {
    const over = page.locator("figure.live", { hasText: "cwnd (segments)" }).first().locator(".u-over");
    const box = await over.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 });
    await page.mouse.up();
    const span = (/** @type {string} */ csv) => {
      const times = csv
        .trim()
        .split("\r\n")
        .slice(1)
        .map((row) => Number(row.split(",")[0]));
      return [times[0], times.at(-1) ?? NaN];
    };
    for (const title of ["cwnd (segments)", "Throughput"]) {
      const [from, to] = span(await numbers(page, title));
      assert.ok(from > 1 && to < 3, `${title}: ${from} to ${to}`);
    }
  }));

test("a bad value shows the command line's own message at its field and its line", () =>
  inLab(async (page) => {
    const rate = page.getByLabel("Rate", { exact: true }).first();
    await rate.fill("10");
    await rate.press("Enter");
    const field = page.locator(".field", { has: rate });
    const message = field.locator(".problem");
    await message.waitFor({ state: "visible" });
    assert.match(
      (await message.textContent()) ?? "",
      /scenario\.toml:6: topology\.dumbbell\.bottleneck\.rate: /,
    );
    assert.equal(await rate.getAttribute("aria-invalid"), "true");
    assert.equal(await page.locator(".gutter .bad").textContent(), "6");
    await page.locator("#text").fill(SCENARIO.replace('control = "reno"', 'control = "rino"'));
    await page.waitForFunction(() => document.querySelector("#text-problem")?.textContent?.includes("rino"));
    assert.match((await page.locator("#text-problem").textContent()) ?? "", /did you mean "reno"/);
    const count = await completed(page);
    await page.locator("#text").fill(SCENARIO);
    await shown(page, count);
    assert.equal(await page.locator(".problem:visible").count(), 0);
  }));

test("a link reproduces the picture, and has no token", async () => {
  let link = "";
  let kept = "";
  await inLab(async (page) => {
    await slide(page, "Rate", 500);
    kept = await numbers(page, "Throughput");
    await clipboard(page);
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.waitForFunction(() => Reflect.get(globalThis, "copied")?.includes("#s="));
    link = await copied(page);
    assert.doesNotMatch(link, /token/);
    const count = await completed(page);
    await page.reload();
    await shown(page, 0);
    assert.ok(count > 0);
    assert.equal(await numbers(page, "Throughput"), kept, "loaded again");
  });
  const fresh = new URL(lab.url);
  fresh.hash = new URL(link).hash;
  await inLab(
    async (page) => assert.equal(await numbers(page, "Throughput"), kept, "opened elsewhere"),
    {},
    fresh.href,
  );
});

test("scripts in labels stay text", () =>
  inLab(async (page) => {
    assert.equal(await page.locator("img").count(), 0);
    const text = (await page.locator("#results").textContent()) ?? "";
    assert.ok(text.includes("<img src=x onerror=alert(1)>"), "it is shown as it is");
  }));

test("expectations turn green or red", () =>
  inLab(async (page) => {
    const verdicts = page.locator("#verdicts li");
    assert.equal(await verdicts.nth(0).getAttribute("class"), "holds");
    assert.equal(await verdicts.nth(1).getAttribute("class"), "fails");
    assert.match((await verdicts.nth(1).textContent()) ?? "", /goodput\('one'\) = /);
  }));

test("variants lie over each other, or beside each other", () =>
  inLab(async (page) => {
    const count = await completed(page);
    await page.getByRole("button", { name: "+ Variant" }).click();
    await shown(page, count);
    await page.getByLabel("Controller", { exact: true }).first().selectOption("bbr");
    await shown(page, count + 1);
    const legend = () => page.locator("figure.live .legend").first().textContent();
    assert.match((await legend()) ?? "", /A: one.*B: one/s);
    await page.locator("figure.live .u-over").first().hover();
    await page.getByRole("button", { name: "Side by side" }).click();
    await page.locator(".columns.several .column").nth(1).waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.locator(".columns:not(.several)").waitFor();
  }));

test("several seeds are a band around a curve", () =>
  inLab(async (page) => {
    const count = await completed(page);
    const lossy = SCENARIO.replace('"1 bdp" }', '"1 bdp" }, loss = 0.002');
    await page.locator("#text").fill(`seeds = 4\n${lossy}`);
    await shown(page, count);
    await page.mouse.move(0, 0);
    await alike("lab-band", page.locator("figure.live", { hasText: "cwnd (segments)" }).first());
  }));

test("a table sorts and copies, and stays sorted", () =>
  inLab(async (page) => {
    const table = page.locator("#tables table").first();
    const names = () => table.locator("tbody tr td:first-child").allTextContents();
    const label = "<img src=x onerror=alert(1)>";
    await table.getByRole("button", { name: "flows" }).click();
    await table.getByRole("button", { name: "flows" }).click();
    assert.deepEqual(await names(), ["one", label]);
    await table.getByRole("button", { name: "flows" }).click();
    assert.deepEqual(await names(), [label, "one"]);
    await slide(page, "Rate", 400);
    assert.equal(await table.locator("th").first().getAttribute("aria-sort"), "ascending");
    assert.deepEqual(await names(), [label, "one"], "after another run, too");
    await clipboard(page);
    await page.locator("#tables .copies").first().click();
    await page.waitForFunction(() => Reflect.get(globalThis, "copied"));
    assert.match(await copied(page), /^flows,(control,)?n,goodput Mbit\/s,[^]*\r\n<img/);
  }));

/** Opens a bare page of the lab in another tab of the same browser. @param {Page} page */
async function tab(page) {
  const other = await page.context().newPage();
  await other.goto(new URL("/", lab.url).href);
  await shown(other, 0);
  return other;
}

test("a long run shows what it has, and the next change ends it", () =>
  inLab(async (page) => {
    const [count, drawn] = [await completed(page), await page.evaluate(() => document.body.dataset.drawn)];
    const runs = await recorded(page);
    const long = SCENARIO.replace('"5 s"', '"100000 s"').replace("10 Mbit/s", "1 Gbit/s");
    await page.locator("#text").fill(long);
    await page.waitForFunction((drawn) => document.body.dataset.drawn !== drawn, drawn);
    assert.match((await page.locator("#status").textContent()) ?? "", /^\d+ % computed$/);
    assert.equal(await completed(page), count, "it is not complete");
    await page.locator("#text").fill(SCENARIO);
    await shown(page, count);
    assert.deepEqual(await runs(), [
      { text: long, aborted: true },
      { text: SCENARIO, aborted: false },
    ]);
    assert.match((await page.locator("#status").textContent()) ?? "", /segments$/);
  }));

test("two tabs compute at once, each its own", () =>
  inLab(async (page) => {
    const other = await tab(page);
    await Promise.all([slide(page, "Rate", 300), slide(other, "Rate", 500)]);
    const rates = await Promise.all(
      [page, other].map(async (it) => /rate = "([^"]+)"/.exec(await words(it))?.[1]),
    );
    assert.notEqual(rates[0], rates[1]);
    assert.equal(await page.locator(".problem:visible").count(), 0);
    await other.close();
  }));

test("six variants, and no seventh", () =>
  inLab(async (page) => {
    const add = page.getByRole("button", { name: "+ Variant" });
    for (let number = 2; number <= 6; number++) {
      const count = await completed(page);
      await add.click();
      await shown(page, count);
    }
    assert.ok(await add.isDisabled());
    const names = await page.locator("#variants button[aria-pressed]").allTextContents();
    assert.deepEqual(names, ["A", "B", "C", "D", "E", "F", "Side by side"]);
    const captions = new Set(await page.locator("#tables caption").allTextContents());
    assert.deepEqual([...captions], ["A", "B", "C", "D", "E", "F"]);
    assert.deepEqual(await barriers(page), []);
  }));

test("names in a link stay text", async () => {
  const label = "<img src=x onerror=alert(1)>";
  const text = SCENARIO.replace('"two flows"', `"${label}"`);
  const variants = [label, "</script><script>alert(2)</script>"].map((name) => ({ name, text }));
  const url = new URL(lab.url);
  url.hash = await written({ variants, chosen: 0, beside: true });
  await inLab(
    async (page) => {
      await page.locator(".column h2").nth(1).waitFor();
      assert.deepEqual(
        await page.locator(".column h2").allTextContents(),
        variants.map(({ name }) => name),
      );
      assert.equal(await page.locator("img").count(), 0);
      assert.equal(await page.locator("script").count(), 2, "its own");
      assert.equal(await words(page), text);
    },
    {},
    url.href,
  );
});

test("nobody is kept out of the gallery, nor of a problem", () =>
  inLab(async (page) => {
    await page.getByRole("button", { name: "Gallery" }).click();
    await page.locator("article").nth(100).waitFor({ state: "attached" });
    assert.deepEqual(await barriers(page), []);
    await page.keyboard.press("Escape");
    await page.locator("#text").fill(SCENARIO.replace('"5 s"', '"5"'));
    await page.locator("#text-problem").waitFor({ state: "visible" });
    assert.deepEqual(await barriers(page), []);
  }));

test("the gallery has scenarios and experiments with their claims", () =>
  inLab(async (page) => {
    await page.getByRole("button", { name: "Gallery" }).click();
    await page.locator("article").nth(100).waitFor({ state: "attached" });
    await page.getByLabel("Search the gallery").fill("one reno flow");
    const count = await completed(page);
    await page.getByRole("button", { name: "one reno flow" }).click();
    await shown(page, count);
    assert.match(await words(page), /one reno flow/);
    await page.getByRole("button", { name: "Gallery" }).click();
    await page.getByLabel("Search the gallery").fill("ctcp-fig-8");
    await page.locator("article:visible summary", { hasText: "claims" }).first().click();
    assert.ok((await page.locator("article:visible li").count()) > 0);
    await page.keyboard.press("Escape");
  }));

test("files: scenario, tables, report, pictures", () =>
  inLab(async (page) => {
    /** @param {() => Promise<void>} ask @returns {Promise<string>} */
    const saved = async (ask) => {
      const [download] = await Promise.all([page.waitForEvent("download"), ask()]);
      const stream = await download.createReadStream();
      let text = "";
      for await (const part of stream) text += part;
      return `${download.suggestedFilename()}\n${text}`;
    };
    const menu = (/** @type {string} */ name) => async () => {
      await page.locator("#export summary").click();
      await page.getByRole("button", { name }).click();
    };
    assert.equal(await saved(menu("Scenario (TOML)")), `scenario.toml\n${SCENARIO}`);
    assert.match(await saved(menu("Tables (CSV)")), /^tables\.csv\nflows,/);
    assert.match(await saved(menu("Report (HTML)")), /^report\.html\n<!doctype html>/);
    const figure = page.locator("figure.live").first();
    for (const [name, begin] of [
      ["PNG", /\.png\n.PNG/],
      ["SVG", /\.svg\n<svg/],
      ["CSV", /\.csv\n/],
    ]) {
      const save = figure.locator(".saves").getByRole("button", { name: String(name) });
      assert.match(await saved(async () => save.click()), /** @type {RegExp} */ (begin));
    }
  }));

test("the keyboard alone is enough", () =>
  inLab(async (page) => {
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "results");
    const slider = page.getByRole("slider", { name: "Rate" }).first();
    await slider.focus();
    const earlier = await slider.getAttribute("aria-valuetext");
    const count = await completed(page);
    await page.keyboard.press("PageUp");
    await shown(page, count);
    assert.notEqual(await slider.getAttribute("aria-valuetext"), earlier);
    assert.ok(await slider.evaluate((it) => it === document.activeElement), "the focus stays");
  }));

for (const theme of /** @type {const} */ (["light", "dark"])) {
  test(`nobody is kept out, and it looks as it did: ${theme}`, () =>
    inLab(
      async (page) => {
        assert.deepEqual(await barriers(page), []);
        // What a run took is not the same twice.
        await page.evaluate(() => document.querySelector("#status")?.replaceChildren("done"));
        await alike(`lab-${theme}`, page);
      },
      { theme },
    ));
}

for (const theme of /** @type {const} */ (["light", "dark"])) {
  test(`paper has the results, on white: ${theme}`, () =>
    inLab(
      async (page) => {
        await page.locator(".sheets summary").click();
        await page.emulateMedia({ media: "print", colorScheme: theme });
        assert.equal(await page.locator("button:visible:not(.entry, .sorts)").count(), 0);
        assert.equal(await page.locator("#form, #text").locator("visible=true").count(), 0);
        assert.ok(await page.locator(".sheets table").first().isVisible(), "the tables, though closed");
        await page.evaluate(() => scrollTo(0, 0));
        await alike("lab-print", page);
      },
      { theme },
    ));
}

test("it fits on a phone", () =>
  inLab(
    async (page) => {
      assert.deepEqual(await barriers(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${width} pixels`);
      await page.evaluate(() => document.querySelector("#status")?.replaceChildren("done"));
      await alike("lab-phone", page);
    },
    { width: 390, height: 844 },
  ));

test("from another machine it is the same page", async () => {
  const open = await serve(["lab", file, "--listen", "0.0.0.0:0"]);
  try {
    const url = new URL(open.url);
    url.hostname = ELSEWHERE;
    await inLab(
      async (page) => {
        assert.equal(await page.evaluate(() => isSecureContext), false);
        await slide(page, "Rate", 300);
        await page.getByRole("button", { name: "Copy link" }).click();
        await page.getByRole("button", { name: "Copied" }).waitFor();
      },
      // It says that it takes no notice of this field without encryption.
      { expected: /Cross-Origin-Opener-Policy/ },
      url.href,
    );
  } finally {
    await open.stop();
  }
});

test("without the token there are words and no results", async () => {
  const bare = new URL(lab.url);
  bare.search = "";
  await visit(
    bare.href,
    async (page) => {
      const problem = page.locator("#problem");
      await problem.waitFor({ state: "visible" });
      assert.match((await problem.textContent()) ?? "", /open the address that `ackclock lab` has printed/);
    },
    { ...LOOK, expected: /403/ },
  );
});
