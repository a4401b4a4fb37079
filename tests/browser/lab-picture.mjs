// The pictures in README.md and the book: `make lab-picture`. One is that of the report of README's first command,
// the other the lab in a browser.

import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { close, root, run, scratch, serve, visit } from "./harness.mjs";

const pictures = join(root, "docs/src/pictures");
const out = join(scratch(), "out");
run("compare", "reno", "highspeed", "compound", "layered", "--out", out);
copyFileSync(join(out, "pictures/cwnd.svg"), join(pictures, "compare-cwnd.svg"));

const lab = await serve(["lab", "--listen", "127.0.0.1:0"]);
await visit(
  lab.url,
  async (page) => {
    await page.waitForFunction(() => document.body.dataset.complete, null, { timeout: 60_000 });
    await page.waitForTimeout(300);
    writeFileSync(join(pictures, "lab.png"), await page.screenshot());
  },
  { width: 1280, height: 760 },
);
await close();
await lab.stop();
