/** Models of every task for the vendors' SDKs: at an upstream that a test scripts, in the sandbox, and at the fake hub. */
import { InferenceClient } from "@huggingface/inference";
import { OpenAIEmbeddings, type OpenAIEmbeddingsParams } from "@langchain/openai";
import { CohereClient, CohereClientV2 } from "cohere-ai";
import defaults from "../../gateway.default.json" with { type: "json" };
import { type Task, TASKS } from "../../src/canonical/models.ts";
import { configSchema } from "../../src/config/schema.ts";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { type FakeHub, fakeHub, type FakeHubOptions, TOKEN } from "../support/fake_hub.ts";
import { fetchFrom } from "./chat_clients.ts";

/** The scripted upstream's model for each task, on lane `oss`. */
export const MODEL: Readonly<Record<Task, string>> = {
  chat: "talker",
  embedding: "embedder",
  rerank: "ranker",
  speech: "speaker",
  transcription: "listener",
  image: "painter",
};

/** Each of those models and, under a name such as `sandbox-rerank`, the sandbox's. */
export const TASKS_CONFIG: ConfigInput = {
  upstreams: CONFIG.upstreams,
  lanes: {
    oss: {
      models: Object.fromEntries(TASKS.flatMap((task) => {
        const sandbox = task === "chat" ? "sandbox" : `sandbox-${task}`;
        return [
          [MODEL[task], { task, targets: [{ upstream: "fake", model: `org/${MODEL[task]}` }] }],
          [sandbox, { task, targets: [{ upstream: "sandbox", model: sandbox }] }],
        ];
      })),
    },
  },
};

/** An app whose upstream is a function. */
export function newTaskApp(answer?: (request: Request) => Response | Promise<Response>): TestApp {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    if (!answer) throw new TypeError("This test has no upstream");
    return await answer(new Request(input, init));
  };
  return newApp({ config: TASKS_CONFIG, fetch });
}

/** An app with the default configuration, in front of the fake hub. */
export function newHubApp(options?: FakeHubOptions): FakeHub & { app: TestApp } {
  const hub = fakeHub(options);
  return { ...hub, app: newApp({ config: configSchema.parse(defaults), env: { HF_TOKEN: TOKEN }, fetch: hub.fetch }) };
}

/** The paths of the router that were asked to run a model, in order. */
export function routesOf({ asked }: FakeHub): string[] {
  return asked.filter(({ method }) => method === "POST").map(({ url }) => url.pathname);
}

export const COHERE = { v1: CohereClient, v2: CohereClientV2 } as const;
export type Cohere = (typeof COHERE)[keyof typeof COHERE];

/** A client that asks once: it would wait a second before it tries again, whatever the gateway says of that. */
export function newCohere(Client: Cohere, app: TestApp, lane = "oss", token = ENV.TEAM_KEY): InstanceType<Cohere> {
  return new Client({ environment: `http://gateway/${lane}`, token, maxRetries: 0, fetch: fetchFrom(app) });
}

export function newLangChain(app: TestApp, more: Partial<OpenAIEmbeddingsParams>, lane = "oss"): OpenAIEmbeddings {
  const configuration = { baseURL: `http://gateway/${lane}/v1`, fetch: fetchFrom(app) };
  return new OpenAIEmbeddings({ apiKey: ENV.TEAM_KEY, maxRetries: 0, ...more, configuration });
}

/**
 * The hub's own client, which asks the hub where a model is before it asks anybody to run it. For tasks other than chat its
 * `endpointUrl` is of no use here, because it then names no model; its `urlTransform` is.
 */
export function newInferenceClient({ app, fetch }: { app: TestApp; fetch: typeof globalThis.fetch }): InferenceClient {
  const toGateway = fetchFrom(app);
  return new InferenceClient(ENV.TEAM_KEY, {
    fetch: (input, init) => String(input).startsWith("http://gateway/") ? toGateway(input, init) : fetch(input, init),
  });
}
