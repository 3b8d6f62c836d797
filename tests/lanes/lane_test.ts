import { assertEquals, assertRejects } from "@std/assert";
import { TASKS } from "../../src/canonical/models.ts";
import { type ErrorCode, GatewayError } from "../../src/errors.ts";
import { createLane, type LaneOptions, rankUpstreams } from "../../src/lanes/lane.ts";

const ALIASES: LaneOptions["models"] = {
  big: {
    task: "chat",
    targets: [{ upstream: "router", model: "org/big" }, { upstream: "local", model: "big:7b" }],
    displayName: "Big",
    contextLength: 131_072,
    maxOutputTokens: 8_192,
    efforts: ["low", "high"],
  },
  bge: { task: "embedding", targets: [{ upstream: "router", model: "maker/bge" }], ownedBy: "somebody" },
};

const closed = createLane("oss", { models: ALIASES, upstreams: {}, created: 7 });
const open = createLane("hf", { models: ALIASES, upstreams: { chat: "router" }, created: 7 });

async function refusal(promise: Promise<unknown>): Promise<{ code: ErrorCode; message: string; param?: string }> {
  const { code, message, details } = await assertRejects(() => promise, GatewayError);
  return { code, message, param: details.param };
}

const noNote = () => {};

Deno.test("lane: the list tells each model with what is known of it", async () => {
  assertEquals(JSON.parse(JSON.stringify(await closed.list(noNote))), [
    {
      id: "big",
      task: "chat",
      created: 7,
      ownedBy: "org",
      displayName: "Big",
      contextLength: 131_072,
      maxOutputTokens: 8_192,
      efforts: ["low", "high"],
    },
    { id: "bge", task: "embedding", inputModalities: ["text"], created: 7, ownedBy: "somebody" },
  ]);
  assertEquals(await open.list(noNote), await closed.list(noNote));
});

Deno.test("lane: lists begin with what can be called, then comes the built-in model, last what no upstream can serve", async () => {
  const at = (...upstreams: string[]) => ({
    task: "chat" as const,
    targets: upstreams.map((upstream) => ({ upstream, model: "m" })),
  });
  const models = {
    s: at("box"),
    a: at("far"),
    b: at("near"),
    c: at("far", "near"),
    d: at("far", "gone"),
    e: at("near"),
  };
  const idsWith = async (...lacking: string[]) => {
    const baseUrl = "http://far.test";
    const rankOf = rankUpstreams({ far: { baseUrl }, near: { baseUrl }, gone: { baseUrl }, box: {} }, new Set(lacking));
    const lane = createLane("oss", { models, upstreams: {}, rankOf, created: 7 });
    return (await lane.list(noNote)).map(({ id }) => id).join("");
  };
  assertEquals(await idsWith(), "abcdes");
  assertEquals(await idsWith("far"), "bcdesa");
  assertEquals(await idsWith("far", "gone"), "bcesad");
  assertEquals(await idsWith("far", "gone", "near"), "sabcde");
});

Deno.test("lane: a model's owner is the upstream where its name tells none", async () => {
  const models: LaneOptions["models"] = { sandbox: { task: "chat", targets: [{ upstream: "box", model: "sandbox" }] } };
  assertEquals((await createLane("oss", { models, upstreams: {}, created: 7 }).get("sandbox")).ownedBy, "box");
});

Deno.test("lane: an alias stands for its targets in their order, and its levels of effort", async () => {
  const { targets, efforts } = await closed.resolve("big", "generate");
  assertEquals(efforts, ["low", "high"]);
  assertEquals(targets, [
    { upstream: "router", model: "org/big", efforts },
    { upstream: "local", model: "big:7b", efforts },
  ]);
  assertEquals((await closed.resolve("bge", "embed")).targets, [{ upstream: "router", model: "maker/bge" }]);
});

Deno.test("lane: a name that it lists is looked up once for an operation; one that a pattern matches, each time", async () => {
  const targets = [{ upstream: "router", model: "org/big" }];
  const lane = createLane("oss", {
    models: { ...ALIASES, "large-*": { task: "chat", targets } },
    upstreams: {},
    created: 7,
  });
  await lane.resolve("big", "generate");
  assertEquals(lane.resolve("big", "generate") === lane.resolve("big", "generate"), true);
  assertEquals((await refusal(lane.resolve("big", "embed"))).code, "model_task_mismatch");
  assertEquals(await lane.resolve("big[1m]", "generate"), await lane.resolve("big", "generate"));
  await lane.resolve("large-1", "generate");
  assertEquals(lane.resolve("large-1", "generate") === lane.resolve("large-1", "generate"), false);
});

Deno.test("lane: a model of another task is a mismatch, whatever else the lane would do", async () => {
  for (const lane of [closed, open]) {
    assertEquals(await refusal(lane.resolve("bge", "generate")), {
      code: "model_task_mismatch",
      message: 'Model "bge" is for embedding; this endpoint needs a model for chat',
      param: "model",
    });
    assertEquals((await refusal(lane.resolve("big", "embed"))).code, "model_task_mismatch");
  }
});

Deno.test("lane: a wish for a long window is no part of a model's name, unless a model is called so", async () => {
  const long = { ...ALIASES.big!, displayName: "Long" };
  const lane = createLane("oss", {
    models: { ...ALIASES, "b*": ALIASES.bge!, "long[1m]": long, "far-*[1m]": long },
    upstreams: {},
    created: 7,
  });
  assertEquals(await lane.resolve("big[1m]", "generate"), await closed.resolve("big", "generate"));
  assertEquals(await closed.get("big[1M]"), { ...await closed.get("big"), id: "big[1M]" });
  for (const id of ["long[1m]", "far-off[1m]"]) assertEquals((await lane.get(id)).displayName, "Long");
  assertEquals(await open.resolve("maker/name[1m]", "generate"), {
    targets: [{ upstream: "router", model: "maker/name" }],
  });
  assertEquals([closed.takes("big[1m]", "chat"), closed.takes("nope[1m]", "chat")], ["own", undefined]);
  assertEquals(
    (await refusal(closed.resolve("nope[1m]", "generate"))).message,
    'Cannot find model "nope" in lane "oss"',
  );
  for (const model of ["big[2m]", "[1m]"]) {
    assertEquals((await refusal(closed.resolve(model, "generate"))).code, "model_not_found");
  }
});

for (const model of ["nope", "constructor", "__proto__", "toString", "BIG", " big"]) {
  Deno.test(`lane: "${model}" is a model that nobody listed`, async () => {
    const expected = {
      code: "model_not_found" as const,
      message: `Cannot find model "${model}" in lane "oss"`,
      param: "model",
    };
    assertEquals(await refusal(closed.get(model)), expected);
    assertEquals(await refusal(closed.resolve(model, "generate")), expected);
    // With an upstream for the task, the name goes there as it was written.
    assertEquals(await open.resolve(model, "generate"), { targets: [{ upstream: "router", model }] });
    assertEquals(await refusal(open.resolve(model, "embed")), {
      ...expected,
      message: `Cannot find model "${model}" for embedding in lane "hf"`,
    });
  });
}

Deno.test("lane: a model that only the upstream knows is told as one that it would ask for", async () => {
  assertEquals(JSON.parse(JSON.stringify(await open.get("maker/name:fastest"))), {
    id: "maker/name:fastest",
    task: "chat",
    created: 7,
    ownedBy: "maker",
  });
  assertEquals((await open.get("name")).ownedBy, "hf");
});

Deno.test("lane: every task can have an upstream of its own", async () => {
  const upstreams = Object.fromEntries(TASKS.map((task) => [task, `${task}-server`]));
  const lane = createLane("all", { models: {}, upstreams, created: 7 });
  assertEquals((await lane.resolve("m", "generate")).targets, [{ upstream: "chat-server", model: "m" }]);
  assertEquals((await lane.resolve("m", "embed")).targets, [{ upstream: "embedding-server", model: "m" }]);
});
