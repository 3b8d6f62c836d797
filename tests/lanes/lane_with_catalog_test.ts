import { assertEquals, assertRejects } from "@std/assert";
import type { ModelInfo } from "../../src/canonical/models.ts";
import type { CatalogCache } from "../../src/lanes/catalog.ts";
import { GatewayError } from "../../src/errors.ts";
import { createLane, type LaneOptions } from "../../src/lanes/lane.ts";

const listed: ModelInfo[] = [
  { id: "org/model", task: "chat", created: 7, ownedBy: "org", contextLength: 4096, inputModalities: ["text"] },
  { id: "org/vectors", task: "embedding", created: 7, ownedBy: "org" },
  { id: "odd:name", task: "chat", created: 7, ownedBy: "odd" },
  { id: "own/model", task: "chat", created: 7, ownedBy: "shadowed" },
];
const reachable: CatalogCache = { models: () => Promise.resolve(new Map(listed.map((model) => [model.id, model]))) };
const unreachable: CatalogCache = {
  models: () => Promise.reject(new GatewayError("unavailable", "The catalog has not answered yet")),
};

function newLane(catalog: CatalogCache | undefined, options: Partial<LaneOptions> = {}) {
  const models: LaneOptions["models"] = {
    "own/model": { task: "chat", targets: [{ upstream: "local", model: "m" }], ownedBy: "me" },
    "own-*": { task: "chat", targets: [{ upstream: "local", model: "p" }] },
  };
  return createLane("hf", {
    models,
    upstreams: { chat: "router" },
    catalogs: catalog ? [catalog] : [],
    created: 1,
    ...options,
  });
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => promise, GatewayError)).code;
}

const noNote = () => {};

Deno.test("lane: a model of the catalog goes to the task's upstream, under the name that the client wrote", async () => {
  const lane = newLane(reachable);
  for (const model of ["org/model", "org/model:cheapest", "org/model:novita"]) {
    assertEquals(await lane.resolve(model, "generate"), {
      targets: [{ upstream: "router", model }],
      contextLength: 4096,
      maxOutputTokens: undefined,
      inputModalities: ["text"],
    });
  }
});

Deno.test("lane: only the last colon after the last slash parts a policy from the name", async () => {
  const lane = newLane(reachable);
  assertEquals((await lane.resolve("odd:name", "generate")).targets[0]?.model, "odd:name");
  assertEquals((await lane.resolve("odd:name:fastest", "generate")).targets[0]?.model, "odd:name:fastest");
  for (
    const model of [
      "org/model:",
      "org/model:a:b",
      "odd:name:x/model",
      "org:x/model",
      "org",
      ":org/model",
      "org/",
      "org/mod",
      "",
    ]
  ) {
    assertEquals(await codeOf(lane.resolve(model, "generate")), "model_not_found", model);
  }
});

Deno.test("lane: what a reachable catalog does not list is not found; without an answer the upstream decides", async () => {
  assertEquals(await codeOf(newLane(reachable).resolve("org/other", "generate")), "model_not_found");
  for (const catalog of [unreachable, undefined]) {
    assertEquals(await newLane(catalog).resolve("org/other:x", "generate"), {
      targets: [{ upstream: "router", model: "org/other:x" }],
    });
  }
});

Deno.test("lane: the catalog's task is checked", async () => {
  const lane = newLane(reachable, { upstreams: { chat: "router", embedding: "router" } });
  assertEquals(await codeOf(lane.resolve("org/vectors", "generate")), "model_task_mismatch");
  assertEquals(await codeOf(lane.resolve("org/model:x", "embed")), "model_task_mismatch");
  assertEquals((await lane.resolve("org/vectors", "embed")).targets[0]?.model, "org/vectors");
  // Known, and nothing serves it.
  assertEquals(await codeOf(newLane(reachable).resolve("org/vectors", "embed")), "model_not_found");
});

Deno.test("lane: the lane's own names and patterns come before the catalog", async () => {
  const lane = newLane(reachable);
  assertEquals((await lane.resolve("own/model", "generate")).targets, [{ upstream: "local", model: "m" }]);
  assertEquals((await lane.resolve("own-5", "generate")).targets, [{ upstream: "local", model: "p" }]);
  assertEquals((await newLane(unreachable).resolve("own/model", "generate")).targets[0]?.upstream, "local");
});

Deno.test("lane: lists its own models first, no pattern, and each name once", async () => {
  const list = await newLane(reachable).list(noNote);
  assertEquals(list.map(({ id, ownedBy }) => [id, ownedBy]), [
    ["own/model", "me"],
    ["org/model", "org"],
    ["org/vectors", "org"],
    ["odd:name", "odd"],
  ]);
});

Deno.test("lane: without the catalog it lists what is its own, and says so", async () => {
  const notes: string[] = [];
  const list = await newLane(unreachable).list((text) => void notes.push(text));
  assertEquals(list.map(({ id }) => id), ["own/model"]);
  assertEquals(notes, ["omitted the catalog: The catalog has not answered yet"]);
});

Deno.test("lane: tells of one model by any name that it resolves", async () => {
  const lane = newLane(reachable);
  assertEquals(await lane.get("org/model:novita"), { ...listed[0]!, id: "org/model:novita" });
  assertEquals((await lane.get("own-5")).id, "own-5");
  assertEquals(await codeOf(lane.get("org/other")), "model_not_found");
  assertEquals(await codeOf(lane.get("own")), "model_not_found");
  assertEquals((await newLane(unreachable).get("org/other")).ownedBy, "org");
});
