// What is kept of uPlot is what its package has, so that nobody edits it by hand.

import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./harness.mjs";

test("uPlot is the one of its package", () => {
  const kept = join(root, "crates/view/assets/vendor");
  const package_ = join(root, "tests/browser/node_modules/uplot");
  for (const [name, path] of [
    ["uPlot.iife.min.js", "dist/uPlot.iife.min.js"],
    ["uPlot.min.css", "dist/uPlot.min.css"],
    ["LICENSE-UPLOT", "LICENSE"],
  ]) {
    assert.equal(readFileSync(join(kept, name), "utf8"), readFileSync(join(package_, path), "utf8"), name);
  }
});
