// The picture of the lab in the book and in README.md: `make lab-picture`.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { close, root, serve, visit } from "./harness.mjs";

const lab = await serve(["lab", "--listen", "127.0.0.1:0"]);
await visit(
  lab.url,
  async (page) => {
    await page.waitForFunction(() => document.body.dataset.complete, null, { timeout: 60_000 });
    await page.waitForTimeout(300);
    writeFileSync(join(root, "docs/src/pictures/lab.png"), await page.screenshot());
  },
  { width: 1280, height: 760 },
);
await close();
await lab.stop();
