/** The hub's API: what it tells of one model, and its listings. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import { type HubAsked, TOKEN } from "./asked.ts";

/** A repository, with all the fields that the hub could be asked for. */
export interface Repository {
  id: string;
  pipeline_tag?: string;
  tags?: string[];
  library_name?: string;
  createdAt?: string;
  /** In either of the hub's two forms. */
  inferenceProviderMapping?: JsonObject | JsonObject[];
}

/** A mapping in the form of an object: `["together", "text-to-speech", "its/name"]`, live unless it says otherwise. */
export function mapped(
  ...entries: [provider: string, task: string, providerId: string, status?: string][]
): JsonObject {
  return Object.fromEntries(entries.map(([provider, ...rest]) => [provider, entryOf(...rest)]));
}

/** Like `mapped`, as a list. */
export function mappedAsList(...entries: Parameters<typeof mapped>): JsonObject[] {
  return entries.map(([provider, ...rest]) => ({ provider, hfModelId: "", type: "single-model", ...entryOf(...rest) }));
}

function entryOf(task: string, providerId: string, status = "live"): JsonObject {
  return { status, providerId, task, isModelAuthor: false };
}

const SPEECH = "text-to-speech";
const DRAWING = "text-to-image";
const CHANGING = "image-to-image";
const HEARING = "automatic-speech-recognition";

const CURATED = [
  ["Qwen/Qwen3-Embedding-4B", "feature-extraction", "deepinfra"],
  ["Qwen/Qwen3-Embedding-0.6B", "feature-extraction", "hf-inference"],
  ["intfloat/multilingual-e5-large-instruct", "feature-extraction", "together"],
  ["microsoft/harrier-oss-v1-0.6b", "feature-extraction", "hf-inference"],
  ["thenlper/gte-large", "sentence-similarity", "deepinfra"],
  ["canopylabs/orpheus-3b-0.1-ft", SPEECH, "together"],
  ["ResembleAI/chatterbox", SPEECH, "deepinfra"],
  ["nari-labs/Dia-1.6B", SPEECH, "fal-ai"],
  ["nvidia/parakeet-tdt-0.6b-v3", HEARING, "deepinfra"],
  ["black-forest-labs/FLUX.1-dev", DRAWING, "together"],
  ["black-forest-labs/FLUX.1-Kontext-dev", CHANGING, "fal-ai"],
  ["Qwen/Qwen-Image", DRAWING, "replicate"],
] as const;

/** One model at least for every provider, task and odd shape. Those of the owner `fake` are odd on purpose. */
export const REPOSITORIES: readonly Repository[] = [
  {
    id: "sentence-transformers/all-MiniLM-L6-v2",
    pipeline_tag: "sentence-similarity",
    tags: ["sentence-transformers", "feature-extraction"],
    library_name: "sentence-transformers",
    createdAt: "2022-03-02T23:29:05.000Z",
    inferenceProviderMapping: mapped([
      "hf-inference",
      "sentence-similarity",
      "sentence-transformers/all-MiniLM-L6-v2",
    ]),
  },
  {
    id: "BAAI/bge-m3",
    pipeline_tag: "feature-extraction",
    createdAt: "2024-01-27T17:07:29.000Z",
    inferenceProviderMapping: mappedAsList(
      ["together", "feature-extraction", "BAAI/bge-m3-together"],
      ["hf-inference", "feature-extraction", "BAAI/bge-m3"],
      ["deepinfra", "feature-extraction", "BAAI/bge-m3-multi"],
    ),
  },
  {
    id: "Qwen/Qwen3-Embedding-8B",
    pipeline_tag: "feature-extraction",
    createdAt: "2025-06-03T14:39:10.000Z",
    inferenceProviderMapping: mapped(
      ["novita", "feature-extraction", "qwen/qwen3-embedding-8b"],
      ["scaleway", "feature-extraction", "qwen3-embedding-8b"],
      ["hf-inference", "feature-extraction", "Qwen/Qwen3-Embedding-8B", "error"],
    ),
  },
  {
    id: "BAAI/bge-reranker-v2-m3",
    pipeline_tag: "text-classification",
    tags: ["sentence-transformers", "text-classification", "text-embeddings-inference"],
    library_name: "sentence-transformers",
    createdAt: "2024-03-15T13:32:18.000Z",
    inferenceProviderMapping: mapped(["hf-inference", "text-classification", "BAAI/bge-reranker-v2-m3"]),
  },
  {
    id: "cross-encoder/ms-marco-MiniLM-L6-v2",
    pipeline_tag: "text-ranking",
    library_name: "sentence-transformers",
    createdAt: "2022-03-02T23:29:05.000Z",
    inferenceProviderMapping: mapped(["hf-inference", "text-ranking", "cross-encoder/ms-marco-MiniLM-L6-v2"]),
  },
  {
    id: "fake/scorer",
    pipeline_tag: "text-classification",
    library_name: "sentence-transformers",
    inferenceProviderMapping: mapped(["hf-inference", "text-classification", "fake/scorer"]),
  },
  {
    id: "distilbert/sst-2",
    pipeline_tag: "text-classification",
    tags: ["transformers", "text-embeddings-inference"],
    library_name: "transformers",
    inferenceProviderMapping: mapped(["hf-inference", "text-classification", "distilbert/sst-2"]),
  },
  {
    id: "hexgrad/Kokoro-82M",
    pipeline_tag: SPEECH,
    createdAt: "2024-12-26T00:20:08.000Z",
    inferenceProviderMapping: mappedAsList(
      ["fal-ai", SPEECH, "fal-ai/kokoro/american-english"],
      ["replicate", SPEECH, "jaaari/kokoro-82m:f559560eb822dc509045f3921a1921234918b917"],
      ["together", SPEECH, "hexgrad/Kokoro-82M"],
      ["deepinfra", SPEECH, "hexgrad/Kokoro-82M"],
      ["wavespeed", SPEECH, "wavespeed-ai/kokoro"],
    ),
  },
  {
    id: "facebook/mms-tts-eng",
    pipeline_tag: SPEECH,
    inferenceProviderMapping: ownEngine("facebook/mms-tts-eng", SPEECH),
  },
  {
    id: "microsoft/speecht5_tts",
    pipeline_tag: "text-to-audio",
    inferenceProviderMapping: ownEngine("microsoft/speecht5_tts", "text-to-audio"),
  },
  {
    id: "openai/whisper-large-v3",
    pipeline_tag: HEARING,
    createdAt: "2023-11-07T18:41:14.000Z",
    inferenceProviderMapping: mapped(
      ["fal-ai", HEARING, "fal-ai/whisper"],
      ["hf-inference", HEARING, "openai/whisper-large-v3"],
      ["together", HEARING, "openai/whisper-large-v3"],
      ["replicate", HEARING, "openai/whisper"],
      ["deepinfra", HEARING, "openai/whisper-large-v3", "staging"],
    ),
  },
  {
    id: "openai/whisper-large-v3-turbo",
    pipeline_tag: HEARING,
    inferenceProviderMapping: mapped(["deepinfra", HEARING, "openai/whisper-large-v3-turbo"], [
      "hf-inference",
      HEARING,
      "openai/whisper-large-v3-turbo",
    ]),
  },
  ...["one-dimension", "token-matrix", "leading-axis", "uneven-widths", "loading"].map((name) => ({
    id: `fake/${name}`,
    pipeline_tag: "feature-extraction",
    inferenceProviderMapping: ownEngine(`fake/${name}`, "feature-extraction"),
  })),
  // The rest of those that the default configuration has names for.
  ...CURATED.map(([id, pipeline_tag, provider]) => ({
    id,
    pipeline_tag,
    inferenceProviderMapping: mapped([provider, pipeline_tag, id]),
  })),
  {
    id: "black-forest-labs/FLUX.1-schnell",
    pipeline_tag: DRAWING,
    createdAt: "2024-07-31T00:00:00.000Z",
    inferenceProviderMapping: mapped(
      ["fal-ai", DRAWING, "fal-ai/flux/schnell"],
      ["nscale", DRAWING, "black-forest-labs/FLUX.1-schnell"],
      ["together", DRAWING, "black-forest-labs/FLUX.1-schnell"],
      ["hf-inference", DRAWING, "black-forest-labs/FLUX.1-schnell"],
      ["replicate", DRAWING, "black-forest-labs/flux-schnell"],
      ["wavespeed", DRAWING, "wavespeed-ai/flux-schnell"],
      ["zai-org", DRAWING, "cogview-flux"],
    ),
  },
  {
    id: "Qwen/Qwen-Image-Edit",
    pipeline_tag: CHANGING,
    inferenceProviderMapping: mapped(
      ["fal-ai", CHANGING, "fal-ai/qwen-image-edit"],
      ["hf-inference", CHANGING, "Qwen/Qwen-Image-Edit"],
      ["replicate", CHANGING, "qwen/qwen-image-edit"],
      ["together", CHANGING, "Qwen/Qwen-Image-Edit"],
      ["wavespeed", CHANGING, "wavespeed-ai/qwen-image/edit"],
    ),
  },
  { id: "fake/nobody-runs-it", pipeline_tag: "feature-extraction", inferenceProviderMapping: {} },
  {
    id: "fake/unknown-provider",
    pipeline_tag: SPEECH,
    inferenceProviderMapping: mapped(["provider-of-tomorrow", SPEECH, "some/name"]),
  },
];

function ownEngine(id: string, task: string): JsonObject {
  return mapped(["hf-inference", task, id]);
}

/** The router's chat models, as the hub's API tells them. */
export function chatRepositories(models: readonly JsonValue[]): Repository[] {
  return models.filter(isJsonObject).map(({ id, providers }) => {
    const all = Array.isArray(providers) ? providers.filter(isJsonObject) : [];
    return {
      id: String(id),
      pipeline_tag: "text-generation",
      tags: ["conversational"],
      inferenceProviderMapping: mapped(
        ...all.map((one) =>
          [String(one.provider), "conversational", String(id), String(one.status)] as Parameters<typeof mapped>[0]
        ),
      ),
    };
  });
}

/** The hub's ways to refuse. */
export const HUB_REFUSALS = {
  notFound: () => refuse(404, "Repository not found", { "x-error-code": "RepoNotFound" }),
  /** A private repository, or none at all, for a caller without a token. */
  hidden: () => refuse(401, "Invalid username or password."),
  wrongToken: () => refuse(401, "Invalid credentials in Authorization header"),
  tooMany: () =>
    refuse(429, "Too Many Requests", {
      ratelimit: '"api";r=0;t=41',
      "ratelimit-policy": '"fixed window";"api";q=500;w=300',
    }),
} as const;

function refuse(status: number, error: string, headers: HeadersInit = {}): Response {
  return Response.json({ error }, { status, headers: { ...headers, "x-error-message": error } });
}

/** Answers `GET /api/models` and `GET /api/models/<id>`. Only the requested fields of a model are returned. */
export function answerHub(
  { method, url, headers }: HubAsked,
  repositories: readonly Repository[],
  pageSize: number,
): Response {
  const credential = headers.get("authorization");
  if (credential !== null && credential !== `Bearer ${TOKEN}`) return HUB_REFUSALS.wrongToken();
  const [, id] = /^\/api\/models(?:\/(.+))?$/.exec(url.pathname) ?? [];
  if (method !== "GET" || !url.pathname.startsWith("/api/models")) return HUB_REFUSALS.notFound();
  const fields = url.searchParams.getAll("expand[]");
  if (id === undefined) return list(url, repositories, fields, pageSize);
  if (id === "fake/limited") return HUB_REFUSALS.tooMany();
  if (id === "fake/hidden") return HUB_REFUSALS.hidden();
  const repository = repositories.find((one) => one.id === decodeURIComponent(id));
  return repository ? Response.json(expand(repository, fields)) : HUB_REFUSALS.notFound();
}

function list(url: URL, repositories: readonly Repository[], fields: string[], pageSize: number): Response {
  const { searchParams } = url;
  const tag = searchParams.get("pipeline_tag");
  const wanted = searchParams.get("inference_provider");
  const limit = Math.min(Number(searchParams.get("limit") ?? 1000), 1000, pageSize);
  const start = Number(searchParams.get("cursor") ?? 0);
  const all = repositories.filter(({ pipeline_tag, inferenceProviderMapping = {} }) => {
    const providers = Array.isArray(inferenceProviderMapping)
      ? inferenceProviderMapping.map(({ provider }) => provider)
      : Object.keys(inferenceProviderMapping);
    const isRun = wanted === "all" ? providers.length > 0 : wanted?.split(",").some((one) => providers.includes(one));
    return (tag === null || pipeline_tag === tag) && (wanted === null || isRun);
  });
  const next = new URL(url);
  next.searchParams.set("cursor", String(start + limit));
  const headers: HeadersInit = start + limit < all.length ? { link: `<${next.href}>; rel="next"` } : {};
  return Response.json(all.slice(start, start + limit).map((one) => expand(one, fields)), { headers });
}

function expand({ id, ...all }: Repository, fields: readonly string[]): JsonObject {
  const asked = Object.entries(all).filter(([name]) => fields.includes(name));
  return { _id: `id-of-${id}`, id, ...Object.fromEntries(asked) };
}
