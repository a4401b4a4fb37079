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
];
/** How much of a picture may differ from the one that is kept: letters differ between versions of a font. */
const TOLERANCE = 0.02;

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
  page.setDefaultTimeout(10_000);
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

/**
 * Compares a picture with the one that is kept in `pictures/`. `ACCEPT=1` keeps the new one.
 * @param {string} name @param {Buffer} shot
 */
export function alike(name, shot) {
  const path = join(here, "pictures", `${name}.png`);
  if (process.env.ACCEPT) {
    mkdirSync(join(here, "pictures"), { recursive: true });
    writeFileSync(path, shot);
    return;
  }
  assert.ok(existsSync(path), `${path} is missing: look at the page, then keep its picture with ACCEPT=1`);
  const [kept, now] = [PNG.sync.read(readFileSync(path)), PNG.sync.read(shot)];
  const failed = join(root, "target", `browser-${name}.png`);
  const size = (/** @type {PNG} */ it) => `${it.width} x ${it.height}`;
  if (size(kept) !== size(now)) {
    writeFileSync(failed, shot);
    assert.fail(`${name} is ${size(now)}, and was ${size(kept)}; see ${failed}`);
  }
  const differing = pixelmatch(kept.data, now.data, undefined, kept.width, kept.height, { threshold: 0.2 });
  const share = differing / (kept.width * kept.height);
  if (share > TOLERANCE) {
    writeFileSync(failed, shot);
    assert.fail(
      `${(100 * share).toFixed(1)} % of ${name} differs; see ${failed}, and ACCEPT=1 if it is better`,
    );
  }
}
