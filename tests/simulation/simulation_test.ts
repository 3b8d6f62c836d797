/** Worlds that a seed decides: in none of them does a law of the gateway break, and a seed is the same world each time. */
import { assert, assertEquals } from "@std/assert";
import { report, scaled } from "../reliability/scale.ts";
import { commandFor, search } from "./search.ts";
import { only, partsOf, scheduleFor } from "./schedule.ts";
import { simulate } from "./world.ts";

const DAY_MS = 86_400_000;
/** Other seeds each day. */
const TODAY = Number(Deno.env.get("LANEWAY_SAMPLE") ?? Math.floor(Date.now() / DAY_MS));
const COUNT = 200;
const FROM = TODAY * 1_000;

Deno.test(`${COUNT} worlds keep all laws (LANEWAY_SAMPLE=${TODAY})`, async () => {
  const { findings, simulatedMs, tookMs } = await search({ from: FROM, count: COUNT, most: 3 });
  report(`${(simulatedMs / tookMs).toFixed(0)} simulated seconds a second`);
  assertEquals(findings.map((finding) => `${finding.message}\n  again: ${commandFor(finding)}`), []);
});

Deno.test("a seed is the same world each time, to the last byte that a client gets", async () => {
  const seeds = Array.from({ length: scaled(300, 40) }, (_, at) => FROM + at);
  for (const seed of seeds) {
    const [one, other] = [await simulate(scheduleFor(seed)), await simulate(scheduleFor(seed))];
    assertEquals(other.trace, one.trace, `seed ${seed}`);
  }
});

Deno.test("worlds differ by their seeds, and have something of everything", async () => {
  const traces: string[] = [];
  for (let seed = 1; seed <= 150; seed++) traces.push(...(await simulate(scheduleFor(seed))).trace);
  const text = traces.join("\n");
  for (
    const sign of [
      ...["by chat", "by messages", "by responses", "by gemini", "by ollama"],
      ...[
        "unreachable",
        "failing",
        "limiting",
        "busy",
        "silent",
        "closed",
        "reset",
        "garbage",
        "error",
        "overload",
        "stall",
      ],
      ...['"continued":1', '"continued":2', "has 402", "has 429", "has 502", "has 503", '"reasoning', "tool_calls"],
      ...["restart of gateway", "crash of gateway", "reload of gateway", "has ended", " after ", 'background\\":true'],
      ...[
        "write runs",
        "read runs",
        "find runs",
        "search runs",
        "is ended",
        "servers of tools are gone",
        "in conversation",
        "on a WebSocket",
        "mcp_tool_result",
        "mcp_call",
      ],
      ...["is late", "is failed", "is unconfirmed", "is locked", "of gateway 2", "budget_exceeded"],
      ...["server's EVALSHA is", "database's commit is", "is slow", "is conflict", "are away", "by this gateway alone"],
    ]
  ) assert(text.includes(sign), `No world has ${sign}`);
  assert(new Set(traces).size > traces.length / 2);
});

Deno.test("a part of a schedule is the same whatever else is left out", () => {
  const whole = scheduleFor(7);
  const parts = partsOf(whole);
  assertEquals(only(whole, new Set(parts)), whole);
  const [kept] = parts.filter((part) => /^\d+$/.test(part)).slice(-1);
  const { steps } = only(whole, new Set([kept!]));
  assertEquals(
    steps.map(({ id, at }) => [id, at]),
    whole.steps.filter(({ id }) => `${id}` === kept).map(({ id, at }) => [id, at]),
  );
});
