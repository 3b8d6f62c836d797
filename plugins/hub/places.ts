/** Reads the hub's facts about a model: its task, and the providers that run it. */
import { asObject, asTexts, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Task } from "../../src/canonical/models.ts";
import type { Found, ProviderTarget } from "../../src/contract/catalog.ts";
import type { Quirks } from "../../src/contract/quirks.ts";

/** How a provider serves a task: its driver and its quirks. */
type Route = { driver: string } & Quirks;

/**
 * The providers that can be called through the router for each task, the preferred ones first. Providers that offer a choice of
 * speech formats, or accept raw bytes, come before those whose answer is a file to fetch. Chat has a service of its own.
 */
const ROUTES: Readonly<Record<Task, Readonly<Record<string, Route>>>> = {
  chat: {},
  embedding: {
    "hf-inference": { driver: "hub" },
    deepinfra: { driver: "embeddings", batch: 1024 },
    together: { driver: "embeddings" },
    scaleway: { driver: "embeddings" },
  },
  rerank: { "hf-inference": { driver: "hub" } },
  speech: {
    together: { driver: "audio", needsVoice: true, speechFormats: { mp3: "mp3", wav: "wav", pcm: "raw" } },
    deepinfra: { driver: "audio" },
    "fal-ai": { driver: "fal" },
    replicate: { driver: "replicate" },
    "hf-inference": { driver: "hub" },
  },
  transcription: {
    "hf-inference": { driver: "hub" },
    deepinfra: { driver: "audio" },
    together: { driver: "audio" },
    "fal-ai": { driver: "fal" },
    replicate: { driver: "replicate" },
  },
  image: {
    together: { driver: "together" },
    nscale: { driver: "images" },
    "hf-inference": { driver: "hub" },
    "fal-ai": { driver: "fal" },
    replicate: { driver: "replicate" },
    wavespeed: { driver: "wavespeed" },
    "zai-org": { driver: "zai" },
  },
};

/** The router's path for each provider. By default, the provider's name. */
const PATHS: Readonly<Record<string, string>> = {
  together: "together/v1",
  deepinfra: "deepinfra/v1/openai",
  scaleway: "scaleway/v1",
  nscale: "nscale/v1",
};

/** The hub's own engine uses the model's name on the hub. Other providers may have their own name for it. */
export const OWN_ENGINE = "hf-inference";

/** The providers of a task that have a route, the preferred ones first. */
export function preferredProviders(task: Task): string[] {
  return Object.keys(ROUTES[task]);
}

/** The target of a model at a provider. Absent if the provider has no route for the task. */
export function placeAt(provider: string, task: Task, model: string): ProviderTarget | undefined {
  const routes = ROUTES[task];
  const route = Object.hasOwn(routes, provider) ? routes[provider] : undefined;
  return route && { provider, task, path: PATHS[provider] ?? provider, model, ...route };
}

/** The gateway's task for each of the hub's task names. */
const TASK_OF: ReadonlyMap<unknown, Task> = new Map([
  ["conversational", "chat"],
  ["any-to-any", "chat"],
  ["audio-text-to-text", "chat"],
  ["video-text-to-text", "chat"],
  ["feature-extraction", "embedding"],
  ["sentence-similarity", "embedding"],
  ["text-ranking", "rerank"],
  ["text-to-speech", "speech"],
  ["text-to-audio", "speech"],
  ["automatic-speech-recognition", "transcription"],
  ["text-to-image", "image"],
  ["image-to-image", "image"],
]);

/** Kinds of models that support chat only if they are tagged `conversational`. */
const MAY_CHAT: readonly unknown[] = ["text-generation", "image-text-to-text"];

/**
 * Reads a model from the hub's API. The task that a provider runs it for takes precedence over the repository's tags, even if that
 * provider is not live or has no route.
 */
export function readFound(id: string, model: JsonObject): Found {
  const entries = readMapping(model.inferenceProviderMapping);
  const tagged = taskOf(id, model.pipeline_tag, model);
  const tasksOf = entries.map(({ task }) => typeof task === "string" ? taskOf(id, task, model) : tagged);
  const tasks = [...new Set(tasksOf.filter((task) => task !== undefined))];
  const places = entries.flatMap(({ provider, status, providerId, adapter }, index) => {
    const task = tasksOf[index];
    const name = provider === OWN_ENGINE ? id : providerId;
    // An adapter's weights would be ignored, so another model than the requested one would answer.
    if (task === undefined || status !== "live" || adapter || !isId(name)) return [];
    const place = placeAt(provider, task, name);
    return place ? { ...place, ...drawing(entries[index]!.task ?? model.pipeline_tag) } : [];
  });
  return {
    tasks: tasks.length > 0 || tagged === undefined ? tasks : [tagged],
    ...(tasks.length === 0 && tagged === undefined && readOther(entries, model)),
    targets: places.filter(({ provider, task }, index) =>
      index === places.findIndex((other) => other.provider === provider && other.task === task)
    ),
  };
}

/** Which of the two tasks for images it is. */
function drawing(task: unknown): Pick<Quirks, "draws"> {
  return task === "text-to-image" ? { draws: "new" } : task === "image-to-image" ? { draws: "changed" } : {};
}

/**
 * The task of a model that supports none of our tasks. A kind that only partly consists of our tasks proves nothing: an untagged
 * language model may support chat, and a classifier may rank, but can do nothing else.
 */
function readOther(
  entries: readonly JsonObject[],
  { pipeline_tag }: JsonObject,
): Pick<Found, "otherTask" | "possibleTasks"> {
  const tags = [...entries.map(({ task }) => task), pipeline_tag].filter((tag) => typeof tag === "string");
  const [otherTask] = tags;
  if (otherTask === undefined || tags.some((tag) => MAY_CHAT.includes(tag))) return {};
  return { otherTask, ...(tags.includes("text-classification") && { possibleTasks: ["rerank"] }) };
}

/** The providers' entries, in either of the hub's formats for a mapping: an object by provider, or a list. */
function readMapping(mapping: unknown): (JsonObject & { provider: string })[] {
  const entries: unknown[] = Array.isArray(mapping)
    ? mapping
    : Object.entries(asObject(mapping)).map(([provider, entry]) => isJsonObject(entry) && { ...entry, provider });
  return entries.filter((entry): entry is JsonObject & { provider: string } =>
    isJsonObject(entry) && typeof entry.provider === "string"
  );
}

function taskOf(id: string, task: unknown, model: JsonObject): Task | undefined {
  if (MAY_CHAT.includes(task)) return tagsOf(model).includes("conversational") ? "chat" : undefined;
  if (task === "text-classification") return isReranker(id, model) ? "rerank" : undefined;
  return TASK_OF.get(task);
}

/**
 * Many rerankers are tagged as classifiers, because they give one class's score to a pair of texts. The sentence-transformers library
 * has no other classifiers.
 */
function isReranker(id: string, model: JsonObject): boolean {
  return model.library_name === "sentence-transformers" ||
    [id, ...tagsOf(model)].some((word) => /rerank|cross-?encoder|text-ranking/i.test(word));
}

function tagsOf({ tags }: JsonObject): string[] {
  return asTexts(tags);
}

const LONGEST_ID = 256;

/** Whether a provider's name for a model can be put into a path as it is. */
function isId(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_ID && /^[\w.:@-]+(\/[\w.:@-]+)*$/.test(value) &&
    !value.split("/").some((segment) => /^\.+$/.test(segment));
}

/** Whether it is a repository's name: `org/model`, or an old name without an owner. */
export function isHubId(value: unknown): value is string {
  return isId(value) && /^[\w.-]+(\/[\w.-]+)?$/.test(value);
}
