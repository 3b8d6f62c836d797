/** What the search has found, each as the smallest schedule that broke a law, with the seed that led there. */
import { assertEquals } from "@std/assert";
import type { Servers } from "./rounds.ts";
import type { Ask, Schedule } from "./schedule.ts";
import { simulate } from "./world.ts";

const ASK: Omit<Ask, "id"> = {
  at: 0,
  type: "ask",
  client: "chat",
  key: "anna",
  stream: true,
  gateway: 0,
  says: [{ text: "An answer of some words" }],
  pieces: [5],
  faults: [],
  readsEvery: 0,
};

/** Its answer takes two seconds. */
const LONG: Omit<Ask, "id"> = { ...ASK, says: [{ text: "words ".repeat(34) }], pieces: [1] };
const IN_BACKGROUND = {
  client: "responses",
  stream: false,
  isKept: true,
  isBackground: true,
  conversation: 1,
} as const;
const SERVERS: Servers = { era: "modern", inStream: false, lists: [] };

const FOUND: Record<string, Schedule> = {
  "52806: a gateway that stops while the store refuses an answer in the background does not wait for that": {
    seed: 52806,
    gateways: 1,
    upstreams: [{ wire: "chat", price: [1, 1], pace: [10, 10] }],
    servers: SERVERS,
    settings: {},
    steps: [
      { id: 1, at: 0, type: "disturb", trouble: "failed", calls: 20, ms: 8_000 },
      { ...ASK, id: 2, at: 100, client: "responses", stream: false, isKept: true, isBackground: true },
      { id: 3, at: 300, type: "restart", gateway: 0 },
    ],
  },
  "61709: a client that leaves while the gateway asks its store about a refused call does not pay for that": {
    seed: 61709,
    gateways: 1,
    upstreams: [{ wire: "chat", price: [1, 1], pace: [10, 10] }],
    servers: SERVERS,
    settings: {},
    steps: [
      { id: 1, at: 0, type: "disturb", trouble: "late", calls: 20, ms: 2_000 },
      { ...ASK, id: 2, at: 100, faults: [{ call: 0, kind: "failing", after: 0 }], leavesAfter: 150 },
    ],
  },
  "200000: an answer that breaks off after a search of the gateway goes on where it broke off": {
    seed: 200000,
    gateways: 1,
    upstreams: [{ wire: "chat", prefill: "prefix", price: [1, 1], pace: [10, 10] }],
    servers: SERVERS,
    settings: {},
    steps: [{
      ...ASK,
      id: 1,
      rounds: [{ number: 0, uses: [{ tool: "search", end: "found" }] }],
      faults: [{ call: 1, kind: "closed", after: 2 }],
    }],
  },
  "10: a gateway that ends, or gets another configuration, ends its sessions with remote servers": {
    seed: 10,
    gateways: 1,
    upstreams: [{ wire: "chat", price: [1, 1], pace: [10, 10] }],
    servers: { ...SERVERS, era: "legacy" },
    settings: {},
    steps: [
      { ...ASK, id: 1, client: "responses", rounds: [{ number: 0, uses: [{ tool: "write", end: "found" }] }] },
      { id: 2, at: 20_000, type: "reload", gateway: 0 },
      {
        ...ASK,
        id: 3,
        at: 30_000,
        client: "responses",
        rounds: [{ number: 0, uses: [{ tool: "read", end: "found" }] }],
      },
      { id: 4, at: 40_000, type: "restart", gateway: 0 },
    ],
  },
  "28360: gateways whose server is silent a moment after they began share a limit by as many as are configured": {
    seed: 28360,
    gateways: 3,
    upstreams: [{ wire: "chat", price: [1, 1], pace: [10, 10], running: 3 }],
    servers: SERVERS,
    settings: { store: "redis" },
    steps: [
      { ...ASK, id: 1, says: [{ text: "Short" }] },
      { ...ASK, id: 2, at: 50, gateway: 1, says: [{ text: "Short" }] },
      ...[3, 4, 5].map((id) => ({ ...LONG, id, at: 300, gateway: 2 })),
      { id: 6, at: 400, type: "disturb", trouble: "away", calls: 1, ms: 8_000 },
      ...[7, 8, 9].map((id) => ({ ...LONG, id, at: 500 })),
      { ...LONG, id: 10, at: 500, gateway: 1 },
    ],
  },
  "101169: while their server is silent, each gateway serves a key one request, even if its limit is one": {
    seed: 101169,
    gateways: 3,
    upstreams: [{ wire: "chat", price: [1, 1], pace: [10, 10] }],
    servers: SERVERS,
    settings: { store: "redis", requestsPerMinute: 1 },
    steps: [
      ...[0, 1, 2].map((gateway) => ({ ...ASK, id: gateway, gateway })),
      { id: 3, at: 0, type: "disturb", trouble: "unconfirmed", calls: 3, ms: 10 },
    ],
  },
  "107399: a gateway that is about to end refuses what would run in the background, and its client may ask another": {
    seed: 107399,
    gateways: 1,
    upstreams: [{ wire: "chat", price: [1, 1], pace: [10, 10] }],
    servers: SERVERS,
    settings: {},
    steps: [
      { ...ASK, ...IN_BACKGROUND, id: 1 },
      ...Array.from({ length: 10 }, (_, at) => ({ ...ASK, id: 2 + at })),
      { ...ASK, ...IN_BACKGROUND, id: 12 },
      { id: 13, at: 0, type: "restart", gateway: 0 },
    ],
  },
};

for (const [name, schedule] of Object.entries(FOUND)) {
  Deno.test(`seed ${name}`, async () => {
    const { violation } = await simulate(schedule);
    assertEquals(violation?.message, undefined);
  });
}
