/** How events are counted: many at a time, and all of them before anybody looks. */
import { assertEquals } from "@std/assert";
import type { LogEntry } from "../../src/observe/log.ts";
import { createMeter } from "../../src/observe/meter.ts";

function entryOf(model: string): LogEntry {
  return { time: "", id: "", method: "POST", path: "/", lane: "oss", model, durationMs: 1, status: 500 };
}

Deno.test("meter: every event is on the page, whenever it is read", async () => {
  const meter = createMeter({ version: "1", operations: new Map(), names: () => new Set() });
  for (let count = 1; count <= 100; count++) {
    meter.count({ type: "attempt", upstream: "up", reason: "first" });
    meter.count({ type: "request", entry: entryOf("m") });
    if (count % 7 !== 0) continue;
    const page = (await meter.metrics()).render([]);
    assertEquals(page.match(/^laneway_attempts_total\{.*\} (\d+)$/m)?.[1], String(count));
    assertEquals(page.match(/^laneway_requests_total\{.*\} (\d+)$/m)?.[1], String(count));
  }
});

Deno.test("meter: an event is counted under the names of its own time", async () => {
  let names = new Set(["oss first"]);
  const meter = createMeter({ version: "1", operations: new Map(), names: () => names });
  await meter.metrics();
  meter.count({ type: "request", entry: entryOf("first") });
  meter.countHeld();
  names = new Set(["oss second"]);
  for (const model of ["first", "second"]) meter.count({ type: "request", entry: entryOf(model) });
  const page = (await meter.metrics()).render([]);
  const models = [...page.matchAll(/^laneway_requests_total\{.*model="(\w+)".*\} 1$/gm)].map(([, model]) => model);
  assertEquals(models, ["first", "other", "second"]);
});

Deno.test("meter: an upstream's health is known at once", () => {
  const meter = createMeter({ version: "1", operations: new Map(), names: () => new Set() });
  meter.count({ type: "served", upstream: "up", ms: 100, at: 1 });
  meter.count({ type: "served", upstream: "up", ms: 200, at: 2 });
  meter.count({ type: "attempt failed", upstream: "up", code: "unavailable", at: 5 });
  const past = new Map([[0, [2, 1]]]);
  assertEquals(
    meter.upstreams.get("up"),
    { latencyMs: 120, lastError: { code: "unavailable", at: 5 }, past } as object,
  );
});

Deno.test("meter: an upstream's past is six hours in stretches, and no longer", () => {
  const meter = createMeter({ version: "1", operations: new Map(), names: () => new Set() });
  for (let hour = 0; hour < 48; hour += 0.125) {
    meter.count({ type: "served", upstream: "up", ms: 100, at: hour * 3_600_000 });
  }
  const past = [...meter.upstreams.get("up")!.past!];
  assertEquals([past.length, past.at(0), past.at(-1)], [24, [168, [2, 0]], [191, [2, 0]]]);
});
