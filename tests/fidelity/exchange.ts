/** One request through the whole app, to an upstream that answers the same every time. */
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { createSealing } from "../../src/state/seal.ts";
import { HEADERS, PATH } from "../regressions/support.ts";
import { type ConfigInput, newApp, NOW } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import type { Client, UpstreamWire } from "./sample.ts";

/** What upstreams speak, and of which make their model is, where the wire has models of its own. */
export const UPSTREAMS = ["chat", "messages", "responses", "vendor"] as const;
export type UpstreamKind = typeof UPSTREAMS[number];

export const WIRE_OF: Record<UpstreamKind, UpstreamWire> = {
  chat: "chat",
  messages: "messages",
  responses: "responses",
  vendor: "responses",
};

const upstream = (wire: UpstreamWire) => ({ driver: wire, baseUrl: `http://${wire}.test/v1` });
const model = (name: UpstreamWire, model: string) => ({ task: "chat" as const, targets: [{ upstream: name, model }] });

const PATHS: Record<Exclude<Client, "gemini">, string> = { ...PATH, ollama: "/oss/api/chat" };

const CONFIG: ConfigInput = {
  upstreams: { chat: upstream("chat"), messages: upstream("messages"), responses: upstream("responses") },
  lanes: {
    oss: {
      models: {
        chat: model("chat", "org/model"),
        messages: model("messages", "org/model"),
        responses: model("responses", "org/model"),
        vendor: model("responses", "gpt-5.2"),
      },
    },
  },
};

/** What an upstream of each wire answers: a thought, and a text that is JSON, too, because some requests want that. */
export const ANSWER: Record<UpstreamWire, JsonObject> = {
  chat: {
    id: "chatcmpl-upstream",
    object: "chat.completion",
    created: 1,
    model: "org/model",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "{}", reasoning_content: "Hm" },
      finish_reason: "stop",
    }],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  },
  messages: {
    id: "msg_upstream",
    type: "message",
    role: "assistant",
    model: "org/model",
    content: [{ type: "thinking", thinking: "Hm", signature: "" }, { type: "text", text: "{}" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
  },
  responses: {
    id: "resp_upstream",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "org/model",
    output: [
      { id: "rs_1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm" }] },
      {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "{}", annotations: [] }],
      },
    ],
    usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
  },
};

/** With as many choices as were asked for. */
function answerTo(wire: UpstreamWire, { n }: JsonObject): JsonObject {
  if (wire !== "chat" || typeof n !== "number") return ANSWER[wire];
  const [choice] = ANSWER.chat.choices as JsonObject[];
  return { ...ANSWER.chat, choices: Array.from({ length: n }, (_, index) => ({ ...choice, index })) };
}

/** What became of a request. */
export interface Outcome {
  status: number;
  /** What the upstream was asked; nothing where it was not. */
  asked?: { body: JsonObject; headers: Record<string, string> };
  /** What the client got: JSON, or the text of a stream. */
  answer: JsonValue;
  notes: readonly string[];
}

interface Options {
  headers?: Record<string, string>;
  /** A request that is answered before. */
  before?: JsonObject;
  answer?: JsonObject;
}

const exchanges = new Map<string, Promise<Outcome>>();

/** Sends `body` to the model of that upstream. The same is sent once: most samples are compared with the same plain request. */
export function exchange(client: Client, to: UpstreamKind, body: JsonObject, options: Options = {}): Promise<Outcome> {
  const { headers, before, answer } = options;
  const key = JSON.stringify([client, to, body, headers, before, answer]);
  const made = exchanges.get(key) ?? send(client, to, body, options);
  exchanges.set(key, made);
  return made;
}

async function send(
  client: Client,
  to: UpstreamKind,
  body: JsonObject,
  { headers = {}, before, answer }: Options,
): Promise<Outcome> {
  const fake = fakeUpstream(({ body }) => Response.json(answer ?? answerTo(WIRE_OF[to], JSON.parse(body))));
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const app = newApp({ config: CONFIG, fetch: fake.fetch, store });
  // What is sealed differs from one time to the next, and what is in it does not.
  const { sealer } = await createSealing({ store, patienceMs: 1_000, now: () => 0 })();
  const post = (asked: JsonObject) =>
    client === "gemini"
      ? app.post(`/oss/v1beta/models/${to}:generateContent`, asked, headers)
      : app.post(PATHS[client], { model: to, ...asked }, { ...(client !== "ollama" && HEADERS[client]), ...headers });
  if (before) await (await post(before)).text();
  fake.asked.length = 0;
  const response = await post(body);
  // A signature of the Gemini wire is the same in base64.
  const plain = (await response.text()).replace(/\bbHcxL[\w+/]+=*/g, atob);
  const text = plain.replace(/lw1\.[\w-]+/g, (sealed) => {
    const opened = sealer!.open(sealed, client, "local");
    return opened ? JSON.stringify(JSON.stringify(opened)).slice(1, -1) : sealed;
  });
  await app.settled();
  const isJson = /\/json\b/.test(response.headers.get("content-type") ?? "");
  const [call] = fake.asked;
  return {
    status: response.status,
    ...(call && { asked: { body: JSON.parse(call.body), headers: Object.fromEntries(call.headers) } }),
    answer: isJson ? JSON.parse(text) : text,
    notes: app.logs.at(-1)?.notes ?? [],
  };
}
