/** A gateway that runs hosted tools, before models that play their rounds on any wire, and a search that knows two pages. */
import type { FinishReason, OutputPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import { type ConfigInput, ENV, newApp, type TestApp, type TestAppOptions } from "./app.ts";
import { newContext, newWireRequest } from "./context.ts";
import { CHAT, type Wire } from "./wires.ts";

/** One action of a model: a word, a thought `(so)`, or a call `name{"its":"input"}`. */
export type Say = string;

/** One request to a model's server. */
export interface Asked {
  host: string;
  body: JsonObject;
  /** Whether its answer is still being read. */
  isOpen: boolean;
}

export interface HostedRigOptions extends Omit<TestAppOptions, "config" | "fetch"> {
  /** The wire of the models' servers. */
  wire?: Wire;
  /** The actions of the model in each round, or a response if its server does something else. */
  rounds: readonly (readonly Say[] | Response)[];
  search?(request: Request): Response | Promise<Response>;
  /** Other hosts. */
  others?(request: Request): Response | Promise<Response>;
  config?: JsonObject;
  /** How the bytes of a stream come: all at once, or as it says. */
  pieces?(bytes: Uint8Array<ArrayBuffer>, round: number): ReadableStream<Uint8Array>;
}

export interface HostedRig {
  app: TestApp;
  asked: Asked[];
  searched: string[];
}

export const PAGES = [
  { url: "https://weather.test/oslo", title: "Oslo", content: "Rain, 7 degrees" },
  { url: "https://other.test/", title: "Other", content: "Sun" },
];

export const USAGE = { inputTokens: 10, outputTokens: 2 };

export function partsOf(says: readonly Say[]): OutputPart[] {
  return says.map((say, index): OutputPart => {
    const [, name, input] = /^(\w+)(\{.*\})$/s.exec(say) ?? [];
    if (name !== undefined) return { type: "tool-call", kind: "function", id: `call_${index}`, name, input: input! };
    const [, thought] = /^\((.*)\)$/s.exec(say) ?? [];
    return thought === undefined ? { type: "text", text: say } : { type: "reasoning", text: thought };
  });
}

/** The answer of a server of the wire. */
export async function answerOn(wire: Wire, says: readonly Say[], stream: boolean): Promise<Response> {
  const content = partsOf(says);
  const reason: FinishReason = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
  const response = { model: "org/model", content, finish: { reason }, usage: USAGE };
  const asked = newWireRequest({
    model: "m",
    max_tokens: 9,
    stream,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content: "a" }],
    input: "a",
  });
  const exchange = wire.newExchange(wire.parseRequest(asked, newContext(wire.name)), asked);
  if (!stream) return Response.json(await wire.serializeResponse(response, exchange));
  const headers = { "content-type": "text/event-stream" };
  return new Response(wire.writeText(replay(response), exchange), { headers });
}

export function newHostedRig(
  { wire = CHAT, rounds, search, others, config, pieces, ...options }: HostedRigOptions,
): HostedRig {
  const asked: Asked[] = [];
  const searched: string[] = [];
  const app = newApp({
    config: {
      upstreams: { fake: { driver: wire.name, baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } } },
      hostedTools: { webSearch: { backend: "searxng", baseUrl: "http://search.test" } },
      ...config,
    } as unknown as ConfigInput,
    env: ENV,
    ...options,
    async fetch(input, init) {
      const request = new Request(input, init);
      const { hostname, searchParams } = new URL(request.url);
      if (hostname === "search.test") {
        searched.push(searchParams.get("q")!);
        return await search?.(request) ?? Response.json({ results: PAGES });
      }
      if (!/^(upstream|first|second)\.test$/.test(hostname)) return await others!(request);
      const one: Asked = { host: hostname, body: await request.json(), isOpen: true };
      const round = asked.push(one) - 1;
      const says = rounds[round] ?? ["too often"];
      const response = says instanceof Response ? says : await answerOn(wire, says, one.body.stream === true);
      if (!response.body) return response;
      const bytes = new Uint8Array(await response.arrayBuffer());
      const body = pieces?.(bytes, round) ?? new Blob([bytes]).stream();
      return new Response(watched(body, request.signal, () => one.isOpen = false), response);
    },
  });
  return { app, asked, searched };
}

/** The same bytes; `onOver` is called when nobody reads them any more. */
function watched(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onOver: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    start: (controller) =>
      signal.addEventListener("abort", () => {
        onOver();
        try {
          controller.error(signal.reason);
        } catch { /* It has ended. */ }
      }),
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        onOver();
        controller.close();
      } catch (thrown) {
        onOver();
        controller.error(thrown);
      }
    },
    cancel(reason) {
      onOver();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** How clients of each wire ask for a search, beside a tool of their own. */
export const ASKS: Record<string, { path: string; body(more?: JsonObject): JsonObject }> = {
  chat: {
    path: "/oss/v1/chat/completions",
    body: (more) => ({
      model: "model",
      messages: [{ role: "user", content: "What is the weather in Oslo?" }],
      tools: [{ type: "function", function: { name: "mine", parameters: { type: "object" } } }],
      web_search_options: {},
      ...more,
    }),
  },
  messages: {
    path: "/oss/v1/messages",
    body: (more) => ({
      model: "model",
      max_tokens: 500,
      messages: [{ role: "user", content: "What is the weather in Oslo?" }],
      tools: [{ type: "web_search_20250305", name: "web_search" }, { name: "mine", input_schema: { type: "object" } }],
      ...more,
    }),
  },
  responses: {
    path: "/oss/v1/responses",
    body: (more) => ({
      model: "model",
      input: [{ role: "user", content: "What is the weather in Oslo?" }],
      tools: [{ type: "web_search" }, { type: "function", name: "mine", parameters: { type: "object" } }],
      store: false,
      include: ["reasoning.encrypted_content"],
      ...more,
    }),
  },
};
