/** What becomes of every field of a request for a completion, at each kind of server that continues texts. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { ANSWERS, configFor, type Setup } from "../support/completions.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

/** The kinds of servers, by the wires of their answers. */
const KINDS: Partial<Record<Setup, string>> = {
  plain: "completions",
  suffix: "completions",
  fim: "fim",
  infill: "infill",
  generate: "generate",
  chat: "chat",
};

interface Client {
  title: string;
  path: string;
  /** The smallest request that fills a gap. */
  base: JsonObject;
  /** Each field with an unusual value. */
  samples: Record<string, JsonObject>;
}

const SAMPLING = { temperature: { temperature: 0.4321 }, top_p: { top_p: 0.4321 }, top_k: { top_k: 4_321 } };
const PENALTIES = { presence_penalty: { presence_penalty: 0.4321 }, frequency_penalty: { frequency_penalty: 0.4321 } };
const options = (one: JsonObject): JsonObject => ({ options: one });

export const COMPLETION_CLIENTS: readonly Client[] = [
  {
    title: "Completions",
    path: "/oss/v1/completions",
    base: { prompt: "before", suffix: "after" },
    samples: {
      "prompt: []": { prompt: ["before", "other"] },
      "prompt: token ids": { prompt: [11, 22], suffix: null },
      "suffix": { suffix: "the suffix" },
      "max_tokens": { max_tokens: 4_321 },
      ...SAMPLING,
      ...PENALTIES,
      "n": { n: 2 },
      "best_of": { best_of: 3 },
      "echo": { echo: true },
      "logprobs": { logprobs: 3 },
      "stop": { stop: ["the stop"] },
      "seed": { seed: 4_321 },
      "stream_options": { stream_options: { include_usage: true } },
      "logit_bias": { logit_bias: { "11": 4 } },
      "user": { user: "somebody" },
    },
  },
  {
    title: "Mistral's fill-in-the-middle",
    path: "/oss/v1/fim/completions",
    base: { prompt: "before", suffix: "after" },
    samples: {
      "suffix": { suffix: "the suffix" },
      "max_tokens": { max_tokens: 4_321 },
      "min_tokens": { min_tokens: 4_321 },
      temperature: SAMPLING.temperature,
      top_p: SAMPLING.top_p,
      "stop": { stop: ["the stop"] },
      "random_seed": { random_seed: 4_321 },
      "metadata": { metadata: { a: "b" } },
      "prompt_cache_key": { prompt_cache_key: "a key" },
    },
  },
  {
    title: "llama.cpp's infill",
    path: "/oss/infill",
    base: { input_prefix: "before", input_suffix: "after" },
    samples: {
      "input_suffix": { input_suffix: "the suffix" },
      "input_extra": { input_extra: [{ filename: "a.ts", text: "the file" }] },
      "prompt": { prompt: "the beginning" },
      "n_predict": { n_predict: 4_321 },
      ...SAMPLING,
      ...PENALTIES,
      "min_p": { min_p: 0.4321 },
      "samplers": { samplers: ["infill"] },
      "seed": { seed: 4_321 },
      "stop": { stop: ["the stop"] },
      "n_indent": { n_indent: 4 },
      "cache_prompt": { cache_prompt: true },
      "t_max_predict_ms": { t_max_predict_ms: 4_321 },
      "response_fields": { response_fields: ["content"] },
    },
  },
  {
    title: "Ollama's generate",
    path: "/oss/api/generate",
    base: { prompt: "before", suffix: "after", stream: false },
    samples: {
      "suffix": { suffix: "the suffix" },
      "raw": { raw: true, suffix: null },
      "system": { system: "be brief" },
      "images": { images: ["aGVsbG8="] },
      "format": { format: "json" },
      "keep_alive": { keep_alive: "5m" },
      "options.num_predict": options({ num_predict: 4_321 }),
      "options.temperature": options({ temperature: 0.4321 }),
      "options.top_p": options({ top_p: 0.4321 }),
      "options.top_k": options({ top_k: 4_321 }),
      "options.seed": options({ seed: 4_321 }),
      "options.stop": options({ stop: ["the stop"] }),
      "options.num_ctx": options({ num_ctx: 4_321 }),
    },
  },
];

interface Sent {
  status: number;
  bodies: JsonObject[];
  notes: string;
}

async function send({ path, base }: Client, setup: Setup, sample: JsonObject): Promise<Sent> {
  const answer = ({ url, body }: { url: URL; body: string }) => {
    const { prompt, n = 1 } = JSON.parse(body);
    const count = (Array.isArray(prompt) && typeof prompt[0] === "string" ? prompt.length : 1) * n;
    const choices = Array.from({ length: count }, (_, index) => ({ index, text: " + b", finish_reason: "stop" }));
    const isOwn = url.pathname === "/v1/completions";
    return isOwn ? Response.json({ choices }) : ANSWERS[KINDS[setup]!]!(false);
  };
  const upstream = fakeUpstream(answer);
  const app = newApp({ config: configFor(setup), fetch: upstream.fetch });
  const response = await app.post(path, { model: "coder", ...base, ...sample });
  await response.body?.cancel();
  const bodies = upstream.asked.map(({ body }) => JSON.parse(body));
  return { status: response.status, bodies, notes: response.headers.get("x-laneway-notes") ?? "" };
}

/** The paths of all values in a body. */
function pathsIn(value: JsonValue, path = ""): string[] {
  if (!isJsonObject(value)) return [`${path} ${JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([name, inner]) =>
    inner === undefined ? [] : pathsIn(inner, path === "" ? name : `${path}.${name}`)
  );
}

/** The fate of a field in one word, and where it went. */
export async function verdictOnCompletion(client: Client, field: string, setup: Setup): Promise<string> {
  const plain = await send(client, setup, {});
  const { status, bodies, notes } = await send(client, setup, client.samples[field]!);
  if (status !== 200) return "refused";
  const before = new Set(pathsIn(plain.bodies[0]!));
  const changed = pathsIn(bodies[0]!).filter((one) => !before.has(one)).map((one) => one.split(" ")[0]!);
  const noted = notes.includes("dropped");
  if (noted) return "dropped";
  if (bodies.length > 1) return `${bodies.length} requests`;
  if (changed.length === 0) return ANSWERED.has(field) ? "answered" : "–";
  const name = field.split(":")[0]!;
  const places = [...new Set(changed.map((path) => path.split(".")[0] === "options" ? path : path.split(".")[0]!))];
  const place = places.includes(name) || places.includes(`options.${name}`) ? name : places[0]!;
  return place === name && places.includes(name) ? "carried" : `as \`${places.join("`, `")}\``;
}

/** The gateway does these by itself where the server does not. */
const ANSWERED: ReadonlySet<string> = new Set(["echo", "stream_options", "response_fields"]);

/** The tables as Markdown. */
export async function renderCompletions(): Promise<string> {
  const setups = Object.keys(KINDS) as Setup[];
  const tables: string[] = [];
  for (const client of COMPLETION_CLIENTS) {
    const fields = Object.keys(client.samples);
    const rows = await Promise.all(fields.map(async (field) => [
      `\`${field}\``,
      ...await Promise.all(setups.map((setup) => verdictOnCompletion(client, field, setup))),
    ]));
    const lines = [
      ["field", ...setups.map((setup) => `at \`${setup}\``)],
      ["---", ...setups.map(() => "---")],
      ...rows,
    ];
    const text = lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
    tables.push(`<details><summary>${client.title} (${fields.length} fields)</summary>\n\n${text}\n\n</details>`);
  }
  return tables.join("\n\n");
}
