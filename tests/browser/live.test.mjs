// An emulated run as it happens: what becomes of its glimpses, and the page while the kernel's own TCP runs.

import { test } from "node:test";
import assert from "node:assert/strict";
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
