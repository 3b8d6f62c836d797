/** The model of the sizes of things: that it adds up, and that what it says of the store is what the gateway asks of it. */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { createMemoryStore } from "../../../src/state/memory_store.ts";
import type { Store } from "../../../src/state/store.ts";
import { CONFIG, newApp, NOW } from "../../support/app.ts";
import { answerWhole } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import measured from "./costs.json" with { type: "json" };
import { type Machine, planFor, type Traffic, TURN_OPERATIONS } from "./model.ts";

const TRAFFIC: Traffic = {
  requests: 100,
  answerSeconds: 5,
  streams: 1_000,
  streamSeconds: 20,
  events: 10,
  kilobytes: 11,
  stored: 0.5,
  turnKilobytes: 4,
  retentionDays: 10,
  limited: 1,
  keys: 10,
};
const MACHINE: Machine = { busy: 0.5, memoryMb: 1_000, spare: 1, descriptors: 10_000, ports: 28_000, upstreams: 1 };
const COSTS = {
  request: { cpuUs: 400, threadUs: 200 },
  kilobyte: { cpuUs: 20, threadUs: 10 },
  event: { cpuUs: 50, threadUs: 40 },
  processCores: 0.1,
  idleMb: 100,
  openKb: 40,
};

Deno.test("scale: what is asked adds up to cores, replicas and what the store has to do", () => {
  const plan = planFor(TRAFFIC, MACHINE, COSTS);
  // 100 requests and 50 streams begin each second; 500 requests and 1,000 streams are open.
  assertEquals([plan.begun, plan.open, plan.events], [150, 1_500, 10_000]);
  assertAlmostEquals(plan.cores.requests, 150 * 400e-6);
  assertAlmostEquals(plan.cores.bodies, 150 * 10 * 20e-6);
  assertAlmostEquals(plan.cores.events, 10_000 * 50e-6);
  assertAlmostEquals(plan.cores.all, 0.06 + 0.03 + 0.5 + 3 * 0.1);
  // The thread is busy for 0.03 + 0.015 + 0.4 s a second. Of the half that it may be, a fifth goes to the process itself.
  const [what, replicas] = plan.needs[0]!;
  assertEquals([what, plan.replicas], ["main thread", 3]);
  assertAlmostEquals(replicas, 0.445 / 0.4);
  assertEquals(plan.each, { cores: plan.cores.all / 3, memoryMb: 120, open: 500, descriptors: 1_000 });
  assertEquals(plan.store.operations, 75 * 3.125 + 150 * 2 + 30 * 2);
  assertAlmostEquals(plan.store.kept, 75 * 4e3 * 864_000 / 1e9);
});

Deno.test("scale: the greatest need decides how many replicas there are", () => {
  const first = (traffic: Partial<Traffic>, machine: Partial<Machine> = {}) =>
    planFor({ ...TRAFFIC, ...traffic }, { ...MACHINE, ...machine }, COSTS).needs[0]![0];
  assertEquals(first({ events: 0, streams: 100_000 }, { descriptors: 1e9, ports: 1e9 }), "memory");
  assertEquals(first({ events: 0, streams: 100_000 }, { memoryMb: 1e6 }), "descriptors");
  assertEquals(first({ events: 0, streams: 100_000 }, { memoryMb: 1e6, descriptors: 1e9 }), "ports to upstreams");
  assertEquals(
    first({ requests: 10_000 }, { memoryMb: 1e6, descriptors: 1e9, upstreams: 99 }),
    "main thread",
  );
  assertThrows(() => planFor(TRAFFIC, { ...MACHINE, memoryMb: 200 }, COSTS), RangeError, "more than 200 MB");
  assertEquals(planFor({ ...TRAFFIC, requests: 0, streams: 0 }, MACHINE, COSTS).replicas, 2);
});

Deno.test("scale: a stored turn asks of the store what the model says, however long its conversation is", async () => {
  const { costs } = measured;
  assert(
    Object.values(costs).flatMap((cost) => typeof cost === "number" ? cost : Object.values(cost)).every((one) =>
      one > 0
    ),
  );
  let calls = 0;
  const inner = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 24 });
  const counted = <K extends "get" | "getRange" | "add" | "ensure" | "update" | "delete">(name: K): Store[K] =>
    ((...args: never[]) => {
      calls++;
      return (inner[name] as (...args: never[]) => unknown)(...args);
    }) as Store[K];
  const store: Store = {
    ...inner,
    get: counted("get"),
    getRange: counted("getRange"),
    add: counted("add"),
    ensure: counted("ensure"),
    update: counted("update"),
    delete: counted("delete"),
  };
  const newGateway = () =>
    newApp({ config: CONFIG, store, fetch: fakeUpstream(() => answerWhole()).fetch, newId: undefined });
  // Of many gateways, each turn mostly reaches another one.
  const gateways = [newGateway(), newGateway()] as const;
  let previous: string | undefined;
  // The first two turns find nothing before them.
  for (const turn of Array(2 + 2 * 8).keys()) {
    if (turn === 2) calls = 0;
    const body = { model: "model", input: "Hello", previous_response_id: previous };
    const response = await gateways[turn % 2 === 0 ? 0 : 1].post("/oss/v1/responses", body);
    previous = (await response.json()).id;
  }
  assertEquals(calls, 2 * 8 * TURN_OPERATIONS);
  for (const gateway of gateways) await gateway.close();
});
