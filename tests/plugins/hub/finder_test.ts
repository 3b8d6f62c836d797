import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { type Task, TASKS } from "../../../src/canonical/models.ts";
import type { Found } from "../../../src/contract/catalog.ts";
import { GatewayError } from "../../../src/errors.ts";
import { finder } from "../../../plugins/hub/finder.ts";
import { HUB_REFUSALS, mapped, mappedAsList } from "../../support/fake_hub.ts";

const ID = "org/model";

function parse(body: JsonValue, status = 200, headers: HeadersInit = {}): Found | undefined {
  return finder.parse({ status, headers: new Headers(headers), body });
}

/** The facts that are found for a model with this mapping. */
function find(inferenceProviderMapping: JsonValue, more: JsonObject = {}): Found {
  return parse({ _id: "1", id: ID, inferenceProviderMapping, ...more })!;
}

/** The providers that are chosen, in order. */
function choose(found: Found, task: Task, policy = ""): string[] {
  return finder.choose(found, `${ID}${policy}`, task).map(({ provider }) => provider);
}

// The question

Deno.test("finder: one call asks for all that is needed, and is the same for every policy", () => {
  const path =
    "api/models/org/model?expand[]=inferenceProviderMapping&expand[]=pipeline_tag&expand[]=tags&expand[]=library_name";
  for (const name of [ID, `${ID}:fastest`, `${ID}:together`]) assertEquals(finder.lookup(name), { path });
});

for (
  const name of [
    "..",
    "../whoami-v2",
    "org/..",
    "a/b/c",
    "/",
    "",
    "org/",
    "org/a b",
    "org/a?b",
    "org/a#b",
    "a%2fb",
    "org/m:",
    "org/m:a:b",
  ]
) {
  Deno.test(`finder: "${name}" is no model's name, and nothing is asked or guessed`, () => {
    assertEquals(assertThrows(() => finder.lookup(name), GatewayError).code, "model_not_found");
    assertEquals(finder.guess(name, "embedding"), []);
  });
}

// The answer

for (const [name, status] of [["notFound", 404], ["hidden", 401]] as const) {
  Deno.test(`finder: a repository that is ${name} is no model`, async () => {
    const response = HUB_REFUSALS[name]();
    assertEquals(parse(await response.json(), status, response.headers), undefined);
  });
}

for (
  const [name, code] of [["wrongToken", "upstream_error"], ["tooMany", "rate_limit"]] as const
) {
  Deno.test(`finder: a hub that says "${name}" says nothing about the model`, async () => {
    const response = HUB_REFUSALS[name]();
    const body = await response.json();
    const error = assertThrows(() => parse(body, response.status, response.headers), GatewayError);
    assertEquals(error.code, code);
  });
}

for (
  const [name, status, body] of [
    ["a redirect", 307, ""],
    ["a failure", 500, { error: "Internal Error" }],
    ["a page", 200, "<html>Sign in</html>"],
    ["a list", 200, [{ id: ID }]],
    ["null", 200, null],
    ["an object without an id", 200, { pipeline_tag: "feature-extraction" }],
    ["an id that is none", 200, { id: "../.." }],
  ] as [string, number, JsonValue][]
) {
  Deno.test(`finder: ${name} says nothing about the model`, () => {
    assertThrows(() => parse(body, status), GatewayError);
  });
}

// The task

for (
  const [task, model, expected] of [
    ["feature-extraction", {}, ["embedding"]],
    ["sentence-similarity", {}, ["embedding"]],
    ["text-ranking", {}, ["rerank"]],
    ["text-to-speech", {}, ["speech"]],
    ["text-to-audio", {}, ["speech"]],
    ["automatic-speech-recognition", {}, ["transcription"]],
    ["conversational", {}, ["chat"]],
    ["any-to-any", {}, ["chat"]],
    ["text-generation", { tags: ["conversational"] }, ["chat"]],
    ["image-text-to-text", { tags: ["conversational"] }, ["chat"]],
    ["text-generation", {}, []],
    ["image-feature-extraction", {}, []],
    ["text-to-image", {}, ["image"]],
    ["image-to-image", {}, ["image"]],
    ["text-to-video", {}, []],
    ["text-classification", {}, []],
    ["text-classification", { id: "BAAI/bge-reranker-v2-m3" }, ["rerank"]],
    ["text-classification", { tags: ["cross-encoder"] }, ["rerank"]],
    ["text-classification", { tags: ["reranker"] }, ["rerank"]],
    ["text-classification", { library_name: "sentence-transformers" }, ["rerank"]],
    ["text-classification", { tags: ["text-embeddings-inference"], library_name: "transformers" }, []],
    ["text-classification", { tags: "reranker" }, []],
    ["constructor", {}, []],
    [7, {}, []],
  ] as [JsonValue, JsonObject, Task[]][]
) {
  const described = JSON.stringify({ task, ...model });
  Deno.test(`finder: what is said of the model tells its task, as a provider's task and as a tag: ${described}`, () => {
    assertEquals(find(mapped(["hf-inference", task as string, ID]), model).tasks, expected);
    assertEquals(find({}, { ...model, pipeline_tag: task }).tasks, expected);
    assertEquals(find(null, { ...model, pipeline_tag: task }).tasks, expected);
  });
}

Deno.test("finder: a provider's task counts before the tag, and each provider may have its own", () => {
  const mapping = mapped(["hf-inference", "sentence-similarity", ID], ["novita", "conversational", ID, "error"]);
  const found = find(mapping, { pipeline_tag: "text-ranking" });
  assertEquals(found.tasks, ["embedding", "chat"]);
  assertEquals(choose(found, "rerank"), []);
});

Deno.test("finder: a provider that does not tell its task has the tag's", () => {
  const found = find({ together: { status: "live", providerId: "x" } }, { pipeline_tag: "text-to-speech" });
  assertEquals([found.tasks, choose(found, "speech")], [["speech"], ["together"]]);
});

// The places

const SPEECH = "text-to-speech";
const HEARING = "automatic-speech-recognition";

for (
  const [task, entry, expected] of [
    ["embedding", ["hf-inference", "feature-extraction", "other/name"], {
      driver: "hub",
      path: "hf-inference",
      model: ID,
    }],
    ["embedding", ["deepinfra", "feature-extraction", "BAAI/m"], {
      driver: "embeddings",
      path: "deepinfra/v1/openai",
      model: "BAAI/m",
      batch: 1024,
    }],
    ["embedding", ["together", "feature-extraction", "t/m"], {
      driver: "embeddings",
      path: "together/v1",
      model: "t/m",
    }],
    ["embedding", ["scaleway", "feature-extraction", "m"], { driver: "embeddings", path: "scaleway/v1", model: "m" }],
    ["rerank", ["hf-inference", "text-ranking", "m"], { driver: "hub", path: "hf-inference", model: ID }],
    ["speech", ["together", SPEECH, "m"], {
      driver: "audio",
      path: "together/v1",
      model: "m",
      needsVoice: true,
      speechFormats: { mp3: "mp3", wav: "wav", pcm: "raw" },
    }],
    ["speech", ["deepinfra", SPEECH, "m"], { driver: "audio", path: "deepinfra/v1/openai", model: "m" }],
    ["speech", ["fal-ai", SPEECH, "fal-ai/kokoro/american-english"], {
      driver: "fal",
      path: "fal-ai",
      model: "fal-ai/kokoro/american-english",
    }],
    ["speech", ["replicate", SPEECH, "a/kokoro:f559"], {
      driver: "replicate",
      path: "replicate",
      model: "a/kokoro:f559",
    }],
    ["transcription", ["together", HEARING, "m"], { driver: "audio", path: "together/v1", model: "m" }],
    ["transcription", ["fal-ai", HEARING, "fal-ai/whisper"], {
      driver: "fal",
      path: "fal-ai",
      model: "fal-ai/whisper",
    }],
  ] as [Task, Parameters<typeof mapped>[0], JsonObject][]
) {
  Deno.test(`finder: ${entry[0]} serves ${task} at a path and by a driver of its own, in both forms of a mapping`, () => {
    const place = { provider: entry[0], task, ...expected };
    assertEquals(finder.choose(find(mapped(entry)), ID, task) as unknown, [place]);
    assertEquals(finder.choose(find(mappedAsList(entry)), ID, task) as unknown, [place]);
  });
}

for (
  const [name, mapping] of [
    ["staging", mapped(["together", SPEECH, "m", "staging"])],
    ["in error", mapped(["together", SPEECH, "m", "error"])],
    ["without a status", { together: { providerId: "m", task: SPEECH } }],
    ["without a name for the model", { together: { status: "live", task: SPEECH } }],
    ["with an empty name for the model", mapped(["together", SPEECH, ""])],
    ["with a name that leads elsewhere", mapped(["fal-ai", SPEECH, "../hf-inference/models"])],
    ["with a name that is a query", mapped(["fal-ai", SPEECH, "a?b"])],
    ["with an adapter's weights", [{
      provider: "together",
      providerId: "m",
      status: "live",
      task: SPEECH,
      adapter: "lora",
    }]],
    ["that is unknown", mapped(["provider-of-tomorrow", SPEECH, "m"])],
    ["named as what every object has", mapped(["constructor", SPEECH, "m"], ["toString", SPEECH, "m"])],
    ["without a route for the task", mapped(["novita", SPEECH, "m"], ["scaleway", SPEECH, "m"])],
    ["without a name of its own", [{ providerId: "m", status: "live", task: SPEECH }]],
    ["that is null", { together: null }],
    ["that is a text", ["together"]],
  ] as [string, JsonValue][]
) {
  Deno.test(`finder: a provider ${name} is skipped, and the next one is not`, () => {
    const next = mapped(["deepinfra", SPEECH, "m"]);
    const all = Array.isArray(mapping)
      ? [...mapping, ...mappedAsList(["deepinfra", SPEECH, "m"])]
      : { ...mapping as JsonObject, ...next };
    for (const policy of ["", ":preferred"]) assertEquals(choose(find(all), "speech", policy), ["deepinfra"]);
    assertEquals(choose(find(mapping), "speech"), []);
  });
}

for (const mapping of [undefined, null, "together", 7, [], {}, [null, 7, []]]) {
  Deno.test(`finder: with ${JSON.stringify(mapping)} for a mapping the model is nowhere`, () => {
    const found = find(mapping as JsonValue, { pipeline_tag: "feature-extraction" });
    assertEquals(found, { tasks: ["embedding"], targets: [] });
  });
}

Deno.test("finder: a provider that is listed twice for a task is one place", () => {
  const mapping = mappedAsList(["hf-inference", "feature-extraction", ID], ["hf-inference", "sentence-similarity", ID]);
  assertEquals(choose(find(mapping), "embedding"), ["hf-inference"]);
});

// The choice

const EMBEDDING = "feature-extraction";

for (
  const [task, name, order] of [
    ["embedding", EMBEDDING, ["hf-inference", "deepinfra", "together", "scaleway"]],
    ["rerank", "text-ranking", ["hf-inference"]],
    ["speech", SPEECH, ["together", "deepinfra", "fal-ai", "replicate", "hf-inference"]],
    ["transcription", HEARING, ["hf-inference", "deepinfra", "together", "fal-ai", "replicate"]],
  ] as [Task, string, string[]][]
) {
  Deno.test(`finder: for ${task} the providers come in our order, the mapping's, or one alone`, () => {
    const reversed = order.toReversed();
    const all = mappedAsList(...reversed.map((provider) => [provider, name, ID] as Parameters<typeof mapped>[0]));
    const found = find(all);
    for (const policy of ["", ":fastest", ":cheapest"]) assertEquals(choose(found, task, policy), order);
    assertEquals(choose(found, task, ":preferred"), reversed);
    for (const provider of order) assertEquals(choose(found, task, `:${provider}`), [provider]);
    for (const provider of [":novita", ":nobody", ":Together"]) assertEquals(choose(found, task, provider), []);
    for (const other of TASKS.filter((one) => one !== task)) assertEquals(choose(found, other), []);
  });
}

// The guess

for (
  const [policy, task, provider, driver] of [
    ["", "embedding", "hf-inference", "hub"],
    [":fastest", "rerank", "hf-inference", "hub"],
    [":preferred", "speech", "hf-inference", "hub"],
    [":cheapest", "transcription", "hf-inference", "hub"],
    [":together", "embedding", "together", "embeddings"],
    [":fal-ai", "speech", "fal-ai", "fal"],
  ] as [string, Task, string, string][]
) {
  Deno.test(`finder: a hub that does not answer leaves "${ID}${policy}" for ${task} to ${provider}`, () => {
    const places = finder.guess(`${ID}${policy}`, task);
    assertEquals(places.map((place) => [place.provider, place.driver, place.model]), [[provider, driver, ID]]);
  });
}

Deno.test("finder: nothing is guessed for a provider that does not serve the task, and none for chat", () => {
  assertEquals(finder.guess(`${ID}:together`, "rerank"), []);
  assertEquals(finder.guess(`${ID}:nobody`, "speech"), []);
  assertEquals(finder.guess(ID, "chat"), []);
});

Deno.test("finder: any JSON is what is known of a model, or an error of ours", () => {
  const key = fc.constantFrom("together", "provider", "status", "task", "providerId", "tags", "pipeline_tag");
  fc.assert(
    fc.property(fc.object({ key, maxDepth: 4 }), fc.object({ key, maxDepth: 4 }), (model, mapping) => {
      const body = JSON.parse(JSON.stringify({ ...model, id: ID, inferenceProviderMapping: mapping }));
      for (const place of parse(body)!.targets) assertEquals(typeof place.model, "string");
    }),
    { numRuns: 500, seed: 1 },
  );
});
