// What the tests in a browser share: a headless Chromium of the system, the program, and pages that must not
// complain. A page that writes an error, or asks for anything beyond its own place, fails its test.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import pixelmatch from "pixelmatch";
import { chromium } from "playwright-core";
import { PNG } from "pngjs";

const here = fileURLToPath(new URL(".", import.meta.url));
/** The top of the repository. */
export const root = join(here, "../..");
/** The program under test, as cargo builds it. */
export const program = process.env.ACKCLOCK ?? join(root, "target/debug/ackclock");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** An address of this machine that is not loopback, for a browser: pages there are no secure contexts. */
export const ELSEWHERE = "192.0.2.1";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--font-render-hinting=none",
  "--force-color-profile=srgb",
  `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`,
];
/** How much of a picture may differ from the one that is kept: letters differ between versions of a font. */
const TOLERANCE = 0.02;
/**
 * How much of what is drawn in a plot may differ, against what the kept picture has there. A plot is mostly
 * ground: all its curves are a hundredth of its pixels.
 */
const PLOT_TOLERANCE = 0.1;
/** Where pages draw: charts, and animations of queues. */
const PLOTS = ".u-over, .stage";
/** What differs from the ground by so much is drawn on it. Grids and shades differ by less. */
const INK = 32;

/** @typedef {import("playwright-core").Page} Page @typedef {import("playwright-core").Locator} Locator */

/** A directory that goes when the tests end. */
export function scratch() {
  const directory = mkdtempSync(join(tmpdir(), "ackclock-browser-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs the program to its end. @param {...string} words */
export function run(...words) {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: "utf8", cwd: root });
  assert.equal(status, 0, `ackclock ${words.join(" ")}: ${error ?? stderr}`);
  return stdout;
}

/**
 * Starts a program that serves, and waits until it has written a line with its address.
 * @param {string[]} words @returns {Promise<{url: string, stop: () => Promise<void>}>}
 */
export function serve(words) {
  const child = spawn(program, words, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const stop = () =>
    new Promise((/** @type {(value?: undefined) => void} */ done) => {
      if (child.exitCode !== null) return done();
      child.once("exit", () => done());
      child.kill("SIGTERM");
    });
  process.on("exit", () => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (/** @type {Buffer} */ part) => {
      text += part;
      const url = /https?:\/\/\S+(?=\s)/.exec(text)?.[0];
      if (url) resolve({ url, stop });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("error", reject);
    child.once("exit", (code) =>
      reject(new Error(`ackclock ${words.join(" ")} ended with ${code}: ${text}`)),
    );
  });
}

/** @type {Promise<import("playwright-core").Browser> | undefined} */
let browser;

/** The browser: one for all tests of a file. */
function started() {
  browser ??= chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
  return browser;
}

/** Call it once all tests of a file have run. */
export async function close() {
  await (await browser)?.close();
  browser = undefined;
}

/**
 * @typedef {object} Look
 * @property {"light" | "dark"} [theme]
 * @property {number} [width]
 * @property {number} [height]
 * @property {boolean} [scripts]  false: as a browser without JavaScript
 * @property {RegExp} [expected]  errors that the test is about
 */

/**
 * Opens a page and gives it to a test. What the page complains of fails the test.
 * @param {string} url @param {(page: import("playwright-core").Page) => Promise<void>} test @param {Look} [look]
 */
export async function visit(
  url,
  test,
  { theme = "light", width = 1000, height = 1800, scripts = true, expected } = {},
) {
  const context = await (
    await started()
  ).newContext({
    colorScheme: theme,
    javaScriptEnabled: scripts,
    viewport: { width, height },
    deviceScaleFactor: 1,
    reducedMotion: "reduce",
  });
  /** @type {string[]} */
  const complaints = [];
  const page = await context.newPage();
  // A loaded machine takes its time; what never comes fails all the same.
  page.setDefaultTimeout(60_000);
  const complain = (/** @type {string} */ text) => expected?.test(text) || complaints.push(text);
  page.on("pageerror", (error) => complain(String(error.stack ?? error)));
  page.on("console", (message) => message.type() === "error" && complain(message.text()));
  page.on("dialog", (dialog) => {
    complain(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const own = new URL(url);
  page.on("request", (request) => {
    const asked = new URL(request.url());
    const local =
      ["data:", "blob:"].includes(asked.protocol) ||
      (asked.protocol === own.protocol && asked.host === own.host);
    if (!local) complain(`it asked for ${request.url()}`);
  });
  try {
    await page.goto(url);
    await test(page);
  } finally {
    await context.close();
  }
  assert.deepEqual(complaints, [], "the page complains of nothing");
}

/** What a page holds of memory, bytes, and of nodes, once its garbage is collected. @param {Page} page */
export async function held(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  await session.detach();
  const of = (/** @type {string} */ wanted) => metrics.find(({ name }) => name === wanted)?.value ?? NaN;
  return { heap: of("JSHeapUsedSize"), nodes: of("Nodes") };
}

/** Keeps what the page copies from now on for `copied`. @param {import("playwright-core").Page} page */
export const clipboard = (page) =>
  page.evaluate(() => {
    const writeText = async (/** @type {string} */ text) => void Object.assign(globalThis, { copied: text });
    Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText } });
  });

/** What the page has copied last. @param {import("playwright-core").Page} page @returns {Promise<string>} */
export const copied = (page) => page.evaluate(() => Reflect.get(globalThis, "copied"));

/** What axe finds wrong with the page for people who see, hear or move otherwise. @param {import("playwright-core").Page} page */
export async function barriers(page) {
  await page.evaluate(readFileSync(join(here, "node_modules/axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (globalThis).axe.run();
    return violations.map(
      (/** @type {any} */ it) =>
        `${it.id}: ${it.help}: ${it.nodes
          .slice(0, 3)
          .map((/** @type {any} */ node) => node.html.slice(0, 200))
          .join(" | ")}`,
    );
  });
}

/** @typedef {{x: number, y: number, width: number, height: number}} Box */

/** Which pixels of a picture differ from another of the same size. @param {PNG} one @param {PNG} other @param {number} threshold */
function compared(one, other, threshold) {
  const { width, height } = one;
  const marks = new Uint8Array(4 * width * height);
  pixelmatch(one.data, other.data, marks, width, height, { threshold, diffMask: true });
  return (/** @type {number} */ x, /** @type {number} */ y) => marks[4 * (y * width + x) + 3] > 0;
}

/** Which pixels of a part of a picture are not its ground, which is the colour of most. @param {PNG} picture @param {Box} box */
function inked({ data, width }, box) {
  const pixel = (/** @type {number} */ x, /** @type {number} */ y) => 4 * (y * width + x);
  /** @type {Map<number, number>} */
  const counts = new Map();
  each(box, (x, y) => {
    const colour = data.readUIntBE(pixel(x, y), 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  });
  const [[ground]] = [...counts].sort(([, a], [, b]) => b - a);
  return (/** @type {number} */ x, /** @type {number} */ y) =>
    [16, 8, 0].some(
      (shift, channel) => Math.abs(((ground >> shift) & 255) - data[pixel(x, y) + channel]) > INK,
    );
}

/** @param {Box} box @param {(x: number, y: number) => void} see */
function each({ x, y, width, height }, see) {
  for (let down = y; down < y + height; down++)
    for (let across = x; across < x + width; across++) see(across, down);
}

/** How many pixels of a part hold. @param {Box} box @param {(x: number, y: number) => boolean} holds */
function count(box, holds) {
  let all = 0;
  each(box, (x, y) => (all += Number(holds(x, y))));
  return all;
}

/**
 * What of a picture differs from the one that is kept in `pictures/`; nothing if they are alike.
 * @param {string} name @param {Buffer} shot @param {Box[]} plots  compared more closely
 */
function difference(name, shot, plots) {
  const path = join(here, "pictures", `${name}.png`);
  assert.ok(existsSync(path), `${path} is missing: look at the page, then keep its picture with ACCEPT=1`);
  const [kept, now] = [PNG.sync.read(readFileSync(path)), PNG.sync.read(shot)];
  const size = (/** @type {PNG} */ it) => `${it.width} x ${it.height}`;
  if (size(kept) !== size(now)) return `${name} is ${size(now)}, and was ${size(kept)}`;
  const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(1)} %`;
  const all = { x: 0, y: 0, width: kept.width, height: kept.height };
  const share = count(all, compared(kept, now, 0.2)) / (kept.width * kept.height);
  if (share > TOLERANCE) return `${percent(share)} of ${name} differs`;
  const differs = compared(kept, now, 0.1);
  for (const [number, plot] of plots.entries()) {
    const ink = count(plot, inked(kept, plot));
    const share = count(plot, differs) / Math.max(ink, 1);
    if (share > PLOT_TOLERANCE)
      return `${percent(share)} of what is drawn in plot ${number} of ${name} differs`;
  }
  return null;
}

/** The picture of a page or of a part of it, and where it has plots. @param {Page | Locator} what @param {string} plots */
async function shown(what, plots) {
  const part = "boundingBox" in what ? what : null;
  const shot = await what.screenshot();
  const { width, height } = PNG.sync.read(shot);
  const from = (await part?.boundingBox()) ?? { x: 0, y: 0 };
  /** @type {Box[]} */
  const boxes = [];
  for (const plot of await what.locator(plots).all()) {
    const box = await plot.boundingBox();
    if (!box) continue;
    // Its edges may be shared with what is beside it.
    const [x, y] = [Math.ceil(box.x - from.x) + 1, Math.ceil(box.y - from.y) + 1].map((at) =>
      Math.max(at, 0),
    );
    const right = Math.min(Math.floor(box.x - from.x + box.width) - 1, width);
    const bottom = Math.min(Math.floor(box.y - from.y + box.height) - 1, height);
    if (right > x && bottom > y) boxes.push({ x, y, width: right - x, height: bottom - y });
  }
  return { shot, boxes };
}

/**
 * What of a page, or of a part of it, differs from the picture that is kept; nothing if it looks alike.
 * @param {string} name @param {Page | Locator} what @param {string} [plots]  what has its plots
 */
export async function changed(name, what, plots = PLOTS) {
  const { shot, boxes } = await shown(what, plots);
  return difference(name, shot, boxes);
}

/**
 * Compares a page, or a part of it, with the picture that is kept in `pictures/`. `ACCEPT=1` keeps the new one.
 * @param {string} name @param {Page | Locator} what @param {string} [plots]  what has its plots
 */
export async function alike(name, what, plots = PLOTS) {
  const { shot, boxes } = await shown(what, plots);
  assert.ok(boxes.length > 0, `${name} has no plot`);
  if (process.env.ACCEPT) {
    mkdirSync(join(here, "pictures"), { recursive: true });
    writeFileSync(join(here, "pictures", `${name}.png`), shot);
  }
  const complaint = difference(name, shot, boxes);
  if (!complaint) return;
  const failed = join(root, "target", `browser-${name}.png`);
  mkdirSync(join(root, "target"), { recursive: true });
  writeFileSync(failed, shot);
  assert.fail(`${complaint}; see ${failed}, and ACCEPT=1 if it is better`);
}
