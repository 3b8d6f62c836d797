import { assertEquals, assertRejects } from "@std/assert";
import type { ModelInfo, Task } from "../../src/canonical/models.ts";
import type { OperationName } from "../../src/canonical/operations.ts";
import type { Found, ProviderTarget } from "../../src/contract/catalog.ts";
import { GatewayError } from "../../src/errors.ts";
import type { CatalogCache } from "../../src/lanes/catalog.ts";
import type { ModelFinder } from "../../src/lanes/finder.ts";
import { createLane, type LaneOptions } from "../../src/lanes/lane.ts";

function place(provider: string, task: Task, more: Partial<ProviderTarget> = {}): ProviderTarget {
  return { provider, task, driver: `${provider}-driver`, path: `${provider}/v1`, model: `${provider}-model`, ...more };
}

/** What the hub knows, by the model's name without its policy. */
const HUB: Readonly<Record<string, Found>> = {
  "org/vectors": {
    tasks: ["embedding"],
    targets: [place("hf", "embedding", { batch: 32 }), place("together", "embedding")],
  },
  "org/voice": { tasks: ["speech"], targets: [place("fal", "speech", { needsVoice: true })] },
  "org/chat": { tasks: ["chat"], targets: [] },
  "org/unserved": { tasks: ["embedding"], targets: [] },
  "org/untold": { tasks: [], targets: [] },
  "org/both": { tasks: ["chat", "transcription"], targets: [place("hf", "transcription")] },
  "org/pictures": { tasks: [], otherTask: "text-to-image", targets: [] },
};

/** The hub, with the policies of one provider. What it is asked is counted. */
function newHub(isReachable = true): ModelFinder & { asked: string[] } {
  const asked: string[] = [];
  const split = (name: string) => name.split(":") as [id: string, policy?: string];
  return {
    asked,
    find(name) {
      asked.push(name);
      return Promise.resolve(isReachable ? HUB[split(name)[0]] ?? "unknown" : "unreachable");
    },
    choose({ targets: places }, name, task) {
      const [, policy] = split(name);
      return places.filter((one) => one.task === task && (policy === undefined || one.provider === policy));
    },
    guess(name, task) {
      const [id, policy = "hf"] = split(name);
      return task === "speech" ? [] : [place(policy, task, { model: id })];
    },
  };
}

function catalogOf(...models: [id: string, task: Task][]): CatalogCache {
  const listed = models.map(([id, task]): ModelInfo => ({ id, task, created: 7, ownedBy: "org", contextLength: 512 }));
  return { models: () => Promise.resolve(new Map(listed.map((model) => [model.id, model]))) };
}

const silent: CatalogCache = {
  models: () => Promise.reject(new GatewayError("unavailable", "The catalog has not answered yet")),
};

const ENDPOINTS: LaneOptions["endpoints"] = {
  chat: ["/v1/chat/completions", "/v1/messages"],
  embedding: ["/v1/embeddings"],
  speech: ["/v1/audio/speech"],
  transcription: ["/v1/audio/transcriptions"],
};

function newLane(options: Partial<LaneOptions>, hub: ModelFinder = newHub()) {
  const finders = new Map([["hub", hub]]);
  return createLane("hf", { models: {}, upstreams: {}, finders, endpoints: ENDPOINTS, created: 1, ...options });
}

/** A lane with one alias, which leads to these models of the hub. */
function aliasLane(task: Task, models: string[], hub = newHub(), more: object = {}) {
  return newLane({ models: { alias: { task, targets: models.map(at), ...more } } }, hub);
}

/** Where a model is: at the hub, but for one that says another upstream. */
function at(name: string): { upstream: string; model: string } {
  const [model, upstream = "hub"] = name.split("@") as [string, string?];
  return { upstream, model };
}

async function targetsOf(resolving: Promise<{ targets: readonly object[] }>): Promise<readonly object[]> {
  return (await resolving).targets;
}

async function refusal(resolving: Promise<unknown>): Promise<[code: string, message: string, param?: string]> {
  const { code, message, details } = await assertRejects(() => resolving, GatewayError);
  return [code, message, details.param];
}

const HF = {
  upstream: "hub",
  provider: "hf",
  driver: "hf-driver",
  path: "hf/v1",
  model: "hf-model",
  batch: 32,
};
const TOGETHER = {
  upstream: "hub",
  provider: "together",
  driver: "together-driver",
  path: "together/v1",
  model: "together-model",
};

Deno.test("places: an alias leads to all places of its model, in the hub's order, with what each takes less of", async () => {
  const lane = aliasLane("embedding", ["org/vectors"]);
  assertEquals(await targetsOf(lane.resolve("alias", "embed")), [HF, TOGETHER]);
});

Deno.test("places: a pinned provider is the only one, and 404 where it has the model not", async () => {
  assertEquals(await targetsOf(aliasLane("embedding", ["org/vectors:together"]).resolve("alias", "embed")), [TOGETHER]);
  assertEquals(await refusal(aliasLane("embedding", ["org/vectors:fal"]).resolve("alias", "embed")), [
    "model_not_found",
    'Cannot find a provider that serves model "alias" for embedding now',
    "model",
  ]);
  const open = newLane({ upstreams: { embedding: "hub" } });
  assertEquals(await targetsOf(open.resolve("org/vectors:together", "embed")), [TOGETHER]);
  assertEquals((await refusal(open.resolve("org/vectors:fal", "embed")))[0], "model_not_found");
});

Deno.test("places: where nobody serves a model now, that is said", async () => {
  for (
    const [lane, model] of [
      [aliasLane("embedding", ["org/unserved"]), "alias"],
      [newLane({ upstreams: { embedding: "hub" } }), "org/unserved"],
    ] as const
  ) {
    assertEquals(await refusal(lane.resolve(model, "embed")), [
      "model_not_found",
      `Cannot find a provider that serves model "${model}" for embedding now`,
      "model",
    ]);
  }
});

Deno.test("places: what the hub says of a task counts for more than the configuration", async () => {
  const lane = aliasLane("embedding", ["org/voice"]);
  assertEquals((await refusal(lane.resolve("alias", "embed")))[0], "model_task_mismatch");
  assertEquals((await targetsOf(lane.resolve("alias", "speak"))).length, 1);
});

Deno.test("places: the configuration decides where the hub says nothing, and where it does not answer", async () => {
  const guessed = (model: string) => ({ ...HF, batch: undefined, model });
  for (
    const [model, hub] of [["org/untold", newHub()], ["org/untold", newHub(false)], [
      "org/vectors",
      newHub(false),
    ]] as const
  ) {
    const lane = aliasLane("rerank", [model], hub);
    const { batch: _, ...expected } = guessed(model);
    const isGuess = (await hub.find(model)) === "unreachable";
    assertEquals(await targetsOf(lane.resolve("alias", "rerank")), [{
      ...expected,
      ...(isGuess && { guessed: true }),
    }]);
    assertEquals((await refusal(lane.resolve("alias", "embed")))[0], "model_task_mismatch");
  }
});

Deno.test("places: a hub that does not answer leaves a guess, at the pinned provider if there is one", async () => {
  const open = newLane({ upstreams: { embedding: "hub", speech: "hub" } }, newHub(false));
  const { batch: _, ...hf } = HF;
  assertEquals(await targetsOf(open.resolve("org/new", "embed")), [{ ...hf, model: "org/new", guessed: true }]);
  assertEquals(await targetsOf(open.resolve("org/new:together", "embed")), [{
    ...TOGETHER,
    model: "org/new",
    guessed: true,
  }]);
  assertEquals((await refusal(open.resolve("org/new", "speak")))[0], "model_not_found");
});

Deno.test("places: the message of a mismatch says what the model is for, and which endpoints take it", async () => {
  const lane = newLane({ upstreams: { embedding: "hub" } });
  assertEquals(await refusal(lane.resolve("org/chat", "embed")), [
    "model_task_mismatch",
    'Model "org/chat" is for chat (/hf/v1/chat/completions, /hf/v1/messages); this endpoint needs a model for ' +
    "embedding",
    "model",
  ]);
  assertEquals(
    (await refusal(lane.resolve("org/both", "embed")))[1],
    'Model "org/both" is for chat and transcription (/hf/v1/chat/completions, /hf/v1/messages, ' +
      "/hf/v1/audio/transcriptions); this endpoint needs a model for embedding",
  );
  assertEquals(
    (await refusal(lane.resolve("org/pictures", "embed")))[1],
    'Model "org/pictures" is for text-to-image; this endpoint needs a model for embedding',
  );
});

Deno.test("places: a target whose model is unknown is passed over, unless no other is left", async () => {
  for (const targets of [["org/none", "org/vectors"], ["org/vectors", "org/none"], ["org/unserved", "org/vectors"]]) {
    assertEquals(await targetsOf(aliasLane("embedding", targets).resolve("alias", "embed")), [HF, TOGETHER]);
  }
  assertEquals(await refusal(aliasLane("embedding", ["org/none", "org/none"]).resolve("alias", "embed")), [
    "model_not_found",
    'Cannot find model "alias" in lane "hf"',
    "model",
  ]);
});

Deno.test("places: targets keep their order, those of plain upstreams too", async () => {
  const lane = aliasLane("embedding", ["first@local", "org/vectors:together", "last@local"]);
  assertEquals(await targetsOf(lane.resolve("alias", "embed")), [
    { upstream: "local", model: "first" },
    TOGETHER,
    { upstream: "local", model: "last" },
  ]);
});

Deno.test("places: a plain target is checked by the configuration alone", async () => {
  const lane = aliasLane("embedding", ["m@local"]);
  assertEquals(await targetsOf(lane.resolve("alias", "embed")), [{ upstream: "local", model: "m" }]);
  assertEquals((await refusal(lane.resolve("alias", "speak")))[0], "model_task_mismatch");
});

Deno.test("places: an alias's voices hold at every place", async () => {
  const lane = aliasLane("speech", ["org/voice", "m@local"], newHub(), { voices: { alloy: "tara" } });
  const targets = await targetsOf(lane.resolve("alias", "speak")) as { voices: object; needsVoice?: boolean }[];
  assertEquals(targets.map(({ voices, needsVoice }) => [voices, needsVoice]), [
    [{ alloy: "tara" }, true],
    [{ alloy: "tara" }, undefined],
  ]);
});

/** The lane of the hub as it is configured: chat through one upstream that takes any name, all else found. */
function hubLane(
  hub = newHub(),
  catalogs = [catalogOf(["org/chat", "chat"]), catalogOf(["org/vectors", "embedding"])],
) {
  return newLane(
    { upstreams: { chat: "router", embedding: "hub", speech: "hub", transcription: "hub" }, catalogs },
    hub,
  );
}

const MISMATCHES: [model: string, operation: OperationName][] = [
  ["org/chat", "embed"],
  ["org/chat:cheapest", "embed"],
  ["org/vectors", "generate"],
  ["org/vectors:together", "generate"],
  ["org/vectors", "speak"],
  ["org/voice", "generate"],
  ["org/voice", "embed"],
  ["org/pictures", "generate"],
  ["org/pictures", "speak"],
];

for (const [model, operation] of MISMATCHES) {
  Deno.test(`places: on an open lane, "${model}" is refused to ${operation}`, async () => {
    assertEquals((await refusal(hubLane().resolve(model, operation)))[0], "model_task_mismatch");
  });
}

Deno.test("places: lists alone tell a mismatch too, while the hub does not answer", async () => {
  const lane = hubLane(newHub(false));
  assertEquals((await refusal(lane.resolve("org/chat", "embed")))[0], "model_task_mismatch");
  assertEquals((await refusal(lane.resolve("org/vectors", "generate")))[0], "model_task_mismatch");
});

Deno.test("places: a model that no list has is served where the hub knows it", async () => {
  assertEquals(await targetsOf(hubLane().resolve("org/voice", "speak")), [
    { ...at("fal-model"), provider: "fal", driver: "fal-driver", path: "fal/v1", needsVoice: true },
  ]);
  assertEquals((await targetsOf(hubLane().resolve("org/both", "transcribe"))).length, 1);
  // A chat model may be too new for the list; its upstream knows.
  assertEquals(await targetsOf(hubLane().resolve("org/both", "generate")), [{ upstream: "router", model: "org/both" }]);
  assertEquals(await targetsOf(hubLane().resolve("org/untold", "generate")), [at("org/untold@router")]);
});

Deno.test("places: a model that neither a list nor the hub knows is not found, by its whole name", async () => {
  for (const operation of ["generate", "embed", "speak"] as const) {
    assertEquals(await refusal(hubLane().resolve("org/none:novita", operation)), [
      "model_not_found",
      'Cannot find model "org/none:novita" in lane "hf"',
      "model",
    ]);
  }
});

Deno.test("places: a listed chat model is served without asking the hub", async () => {
  const hub = newHub();
  assertEquals(await targetsOf(hubLane(hub).resolve("org/chat:novita", "generate")), [at("org/chat:novita@router")]);
  assertEquals(hub.asked, []);
});

Deno.test("places: without lists the upstream of chat is asked for any name, and the hub for nothing", async () => {
  const hub = newHub();
  assertEquals(await targetsOf(hubLane(hub, [silent]).resolve("org/none", "generate")), [at("org/none@router")]);
  assertEquals(hub.asked, []);
});

Deno.test("places: a task that the lane serves nowhere is a model that is not found", async () => {
  const lane = newLane({ upstreams: { chat: "router" }, catalogs: [catalogOf(["org/vectors", "embedding"])] });
  assertEquals((await refusal(lane.resolve("org/vectors", "embed")))[0], "model_not_found");
});

Deno.test("places: the list is merged from all catalogs, the lane's own and the first of a name first", async () => {
  const catalogs = [catalogOf(["a", "chat"], ["b", "chat"]), catalogOf(["b", "embedding"], ["c", "speech"])];
  const lane = newLane({ models: { own: { task: "rerank", targets: [at("m")] } }, catalogs });
  const list = await lane.list(() => {});
  assertEquals(list.map(({ id, task }) => [id, task]), [
    ["own", "rerank"],
    ["a", "chat"],
    ["b", "chat"],
    ["c", "speech"],
  ]);
});

Deno.test("places: of two catalogs of which one fails the other is listed and resolved, and it is said", async () => {
  for (const catalogs of [[silent, catalogOf(["org/model", "chat"])], [catalogOf(["org/model", "chat"]), silent]]) {
    const notes: string[] = [];
    const lane = newLane({ upstreams: { chat: "router" }, catalogs });
    assertEquals((await lane.list((text) => void notes.push(text))).map(({ id }) => id), ["org/model"]);
    assertEquals(notes, ["omitted the catalog: The catalog has not answered yet"]);
    assertEquals(await targetsOf(lane.resolve("org/model:x", "generate")), [at("org/model:x@router")]);
    // The other list may have had it.
    assertEquals(await targetsOf(lane.resolve("org/none", "generate")), [at("org/none@router")]);
  }
});

Deno.test("places: tells of one model by what the hub knows, where no list has it", async () => {
  const lane = hubLane();
  assertEquals(await lane.get("org/voice:fal"), { id: "org/voice:fal", task: "speech", created: 1, ownedBy: "org" });
  assertEquals((await lane.get("org/vectors")).contextLength, 512);
  assertEquals((await refusal(lane.get("org/none")))[0], "model_not_found");
});

Deno.test("places: a model of a task that no endpoint takes is none of the lane's", async () => {
  assertEquals((await refusal(hubLane().get("org/pictures")))[0], "model_not_found");
});

Deno.test("places: a request without a lane belongs to the lane that has the model, or that takes any", () => {
  const models = {
    alias: { task: "transcription" as const, targets: [] },
    "whisper-*": { task: "transcription" as const, targets: [] },
  };
  const closed = newLane({ models });
  const named = ["alias", "whisper-1", "org/model", ""];
  assertEquals(named.map((model) => closed.takes(model, "transcription")), ["own", "own", undefined, undefined]);
  const open = newLane({ models, upstreams: { transcription: "hub" } });
  assertEquals(named.map((model) => open.takes(model, "transcription")), ["own", "own", "any", "any"]);
  assertEquals(open.takes("org/model", "speech"), undefined);
});
