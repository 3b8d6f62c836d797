import { assert, assertEquals, assertThrows } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { ModelInfo } from "../../../src/canonical/models.ts";
import type { Call, Reply } from "../../../src/contract/call.ts";
import { GatewayError } from "../../../src/errors.ts";
import { hubCatalog } from "../../../plugins/hub/mod.ts";
import { fakeHub, type FakeHubOptions, HUB, mapped, mappedAsList } from "../../support/fake_hub.ts";

function page(body: JsonValue, link?: string): Reply {
  return { status: 200, headers: new Headers(link === undefined ? {} : { link }), body };
}

/** The models of the hub's listings, each page asked for as the catalog says; and what was asked. */
async function list(options: FakeHubOptions = {}): Promise<{ models: ModelInfo[]; asked: string[] }> {
  const hub = fakeHub(options);
  const replies: Reply[] = [];
  for (const first of hubCatalog.listing()) {
    for (let call: Call | undefined = first; call && replies.length < 100;) {
      const response = await hub.fetch(`${HUB}/${call.path}`);
      const reply: Reply = { status: response.status, headers: response.headers, body: await response.json() };
      replies.push(reply);
      call = hubCatalog.next?.(reply);
    }
  }
  return { models: hubCatalog.parseListing(replies), asked: hub.asked.map(({ url }) => url.href) };
}

/** The model that the list makes of one entry, beside another that can be read. */
function parseOne(entry: JsonValue): ModelInfo | undefined {
  const other = { id: "org/other", inferenceProviderMapping: mapped(["hf-inference", "text-ranking", "org/other"]) };
  const models = hubCatalog.parseListing([page([other, entry])]);
  assertEquals(models[0]?.id, "org/other");
  return models[1];
}

const LIVE = mapped(["together", "text-to-speech", "t/m"]);

Deno.test("listing: each model tells its task, its owner and what it is given", async () => {
  const { models } = await list();
  const facts = Object.fromEntries(models.map(({ id, task, inputModalities }) => [id, [task, inputModalities]]));
  assertEquals(facts["sentence-transformers/all-MiniLM-L6-v2"], ["embedding", ["text"]]);
  assertEquals(facts["Qwen/Qwen3-Embedding-8B"], ["embedding", ["text"]]);
  assertEquals(facts["cross-encoder/ms-marco-MiniLM-L6-v2"], ["rerank", ["text"]]);
  assertEquals(facts["hexgrad/Kokoro-82M"], ["speech", ["text"]]);
  assertEquals(facts["openai/whisper-large-v3"], ["transcription", ["audio"]]);
  assertEquals(models.find(({ id }) => id === "BAAI/bge-m3"), {
    id: "BAAI/bge-m3",
    task: "embedding",
    created: 1_706_375_249,
    ownedBy: "BAAI",
    inputModalities: ["text"],
  });
});

Deno.test("listing: of the classifiers only the rerankers are listed", async () => {
  const ids = (await list()).models.map(({ id }) => id);
  for (const id of ["BAAI/bge-reranker-v2-m3", "fake/scorer"]) assert(ids.includes(id), id);
  assert(!ids.includes("distilbert/sst-2"));
});

Deno.test("listing: models that nobody can be asked for are left out, and chat is the router's", async () => {
  const ids = (await list()).models.map(({ id }) => id);
  for (const id of ["fake/nobody-runs-it", "fake/unknown-provider", "zai-org/GLM-5.3"]) assert(!ids.includes(id), id);
});

Deno.test("listing: all pages are read, whatever their size, and no model twice", async () => {
  const whole = await list();
  const inPages = await list({ pageSize: 2 });
  const others = (models: readonly ModelInfo[]) => models.filter(({ task }) => task !== "image");
  assertEquals(others(inPages.models), others(whole.models));
  assert(inPages.asked.length > whole.asked.length);
  assertEquals(new Set(whole.models.map(({ id }) => id)).size, whole.models.length);
  assertEquals(whole.asked.length, 8);
});

Deno.test("listing: of models for images only the first page is read, the most used ones", async () => {
  const { asked, models } = await list({ pageSize: 2 });
  const pages = asked.map((url) => new URL(url).searchParams).filter((query) =>
    query.get("pipeline_tag") === "text-to-image"
  );
  assertEquals(pages.map((query) => query.get("sort")), ["downloads"]);
  assertEquals(models.filter(({ task }) => task === "image").length, 4);
});

for (
  const [name, link, path] of [
    [
      "the next page",
      '<https://huggingface.co/api/models?limit=2&cursor=abc%3D>; rel="next"',
      "api/models?limit=2&cursor=abc%3D",
    ],
    [
      "a page of a hub elsewhere is asked of our own",
      "<http://mirror.test/hub/api/models?cursor=1>; rel=next",
      "api/models?cursor=1",
    ],
    [
      "the one of several that is next",
      '</api/models?cursor=0>; rel="prev", </api/models?cursor=2>; title="more"; rel="next"',
      "api/models?cursor=2",
    ],
    ["no page that is not next", '</api/models?cursor=0>; rel="prev"', undefined],
    ["no page of something else", '<https://huggingface.co/api/whoami-v2?a=b>; rel="next"', undefined],
    ["no page without a query", '<https://huggingface.co/api/models>; rel="next"', undefined],
    ["nothing that is no link", "next", undefined],
    ["no page where there is no header", undefined, undefined],
  ] as const
) {
  Deno.test(`listing: the header tells ${name}`, () => {
    assertEquals(hubCatalog.next?.(page([{}], link)), path === undefined ? undefined : { path });
  });
}

Deno.test("listing: after an empty page comes none", () => {
  assertEquals(hubCatalog.next?.(page([], '</api/models?cursor=2>; rel="next"')), undefined);
});

for (
  const [name, fields] of [
    ["a provider that is in error", { inferenceProviderMapping: mapped(["together", "text-to-speech", "m", "error"]) }],
    ["a provider in staging", { inferenceProviderMapping: mapped(["together", "text-to-speech", "m", "staging"]) }],
    ["providers without a route", { inferenceProviderMapping: mapped(["novita", "text-to-speech", "m"]) }],
    ["a task that is not ours", { inferenceProviderMapping: mapped(["hf-inference", "text-to-video", "m"]) }],
    ["no mapping", { pipeline_tag: "text-to-speech" }],
    ["a mapping that is a text", { inferenceProviderMapping: "together" }],
    ["an id that is a number", { id: 7, inferenceProviderMapping: LIVE }],
    ["an id with a space", { id: "org/a b", inferenceProviderMapping: LIVE }],
    ["an id that leads elsewhere", { id: "../m", inferenceProviderMapping: LIVE }],
    ["an id without end", { id: "a".repeat(300), inferenceProviderMapping: LIVE }],
  ] as [string, JsonObject][]
) {
  Deno.test(`listing: an entry with ${name} is left out, and the others stay`, () => {
    assertEquals(parseOne({ id: "org/m", ...fields }), undefined);
  });
}

for (const entry of [null, 7, "org/m", [], {}]) {
  Deno.test(`listing: ${JSON.stringify(entry)} is no entry`, () => assertEquals(parseOne(entry), undefined));
}

Deno.test("listing: a mapping in the form of a list, with one provider that can be asked, is enough", () => {
  const mapping = mappedAsList(["novita", "conversational", "m"], ["fal-ai", "automatic-speech-recognition", "w"]);
  assertEquals(parseOne({ id: "org/m", inferenceProviderMapping: mapping })?.task, "transcription");
});

for (const createdAt of [undefined, null, "yesterday", 7, "", "1900-01-01T00:00:00.000Z"]) {
  Deno.test(`listing: a model created ${JSON.stringify(createdAt)} has no date`, () => {
    const model = parseOne({ id: "gpt2", createdAt: createdAt as JsonValue, inferenceProviderMapping: LIVE });
    assertEquals([model?.created, model?.ownedBy], [0, "gpt2"]);
  });
}

for (
  const [name, body] of [
    ["a page of the web", "<html>Sign in</html>"],
    ["an error", { error: "Internal" }],
    ["null", null],
    ["no models", []],
    ["no model that can be read", [{ name: "org/m" }, 7]],
  ] as [string, JsonValue][]
) {
  Deno.test(`listing: an answer with ${name} is no list`, () => {
    const error = assertThrows(() => hubCatalog.parseListing([page(body)]), GatewayError);
    assertEquals(error.code, "upstream_error");
  });
}
