/** A model of every task at every endpoint that runs one: what the vendor's SDK raises where they do not fit. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Cohere } from "cohere-ai";
import { type Task, TASKS } from "../../src/canonical/models.ts";
import { ENV, type TestApp } from "../support/app.ts";
import { png } from "../support/fake_hub.ts";
import { fetchFrom, MAJORS, newClient, type OpenAI } from "./chat_clients.ts";
import { MAJORS as MESSAGES_MAJORS } from "./messages_clients.ts";
import { COHERE, MODEL, newCohere, newHubApp, newTaskApp } from "./task_clients.ts";

const HELLO = [{ role: "user" as const, content: "Hello" }];
const file = () => new File([Deno.readFileSync(new URL("../fixtures/audio/tone.wav", import.meta.url))], "tone.wav");

const picture = () => new File([png("A picture")], "picture.png");

interface Endpoint {
  task: Task;
  ask(client: OpenAI, model: string): PromiseLike<unknown>;
}

/** The endpoints of the vendor's SDK, each with the smallest request. */
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  chat: {
    task: "chat",
    ask: (client, model) => client.chat.completions.create({ model, messages: HELLO }),
  },
  "streamed chat": {
    task: "chat",
    ask: (client, model) => client.chat.completions.create({ model, messages: HELLO, stream: true }),
  },
  responses: {
    task: "chat",
    ask: (client, model) => client.responses.create({ model, input: "Hello", store: false }),
  },
  embeddings: {
    task: "embedding",
    ask: (client, model) => client.embeddings.create({ model, input: "Hello" }),
  },
  speech: {
    task: "speech",
    ask: (client, model) => client.audio.speech.create({ model, input: "Hello", voice: "alloy" }),
  },
  "speech in events": {
    task: "speech",
    ask: (client, model) => client.audio.speech.create({ model, input: "Hello", voice: "alloy", stream_format: "sse" }),
  },
  transcriptions: {
    task: "transcription",
    ask: (client, model) => client.audio.transcriptions.create({ model, file: file() }),
  },
  "streamed transcriptions": {
    task: "transcription",
    ask: (client, model) => client.audio.transcriptions.create({ model, file: file(), stream: true }),
  },
  translations: {
    task: "transcription",
    ask: (client, model) => client.audio.translations.create({ model, file: file() }),
  },
  images: {
    task: "image",
    ask: (client, model) => client.images.generate({ model, prompt: "Hello" }),
  },
  "changed images": {
    task: "image",
    ask: (client, model) => client.images.edit({ model, prompt: "Hello", image: picture() }),
  },
  "translations without a lane": {
    task: "transcription",
    ask: (client, model) =>
      client.withOptions({ baseURL: "http://gateway/v1" }).audio.translations.create({ model, file: file() }),
  },
};

/** Where a model of each task belongs, as the message has it. */
const PLACE: Readonly<Record<Task, string>> = {
  chat: "/v1/chat/completions",
  embedding: "/v1/embeddings",
  rerank: "/v1/rerank",
  speech: "/v1/audio/speech",
  transcription: "/v1/audio/transcriptions",
  image: "/v1/images/generations",
};

/** The message says what the model is for, where that is, and what this endpoint needs. */
function assertSays(message: string, model: string, lane: string, has: Task, wants: Task) {
  assertStringIncludes(message, `"${model}" is for ${has}`);
  assertStringIncludes(message, `/${lane}${PLACE[has]}`);
  assertStringIncludes(message, `needs a model for ${wants}`);
}

/** A model of each task on lane `hf`, as the hub has them. */
const HUB_MODEL: Readonly<Record<Task, string>> = {
  chat: "zai-org/GLM-5.3",
  embedding: "BAAI/bge-m3",
  // The hub calls it a classifier.
  rerank: "BAAI/bge-reranker-v2-m3",
  speech: "hexgrad/Kokoro-82M",
  transcription: "openai/whisper-large-v3",
  image: "black-forest-labs/FLUX.1-schnell",
};

interface Lane {
  name: string;
  models: Readonly<Record<Task, string>>;
  newApp(): TestApp;
}

const LANES: readonly Lane[] = [
  { name: "oss", models: MODEL, newApp: () => newTaskApp() },
  { name: "hf", models: HUB_MODEL, newApp: () => newHubApp().app },
];

for (const { name: lane, models, newApp } of LANES) {
  for (const has of TASKS) {
    const model = models[has];
    const test = (client: string, act: (app: TestApp) => Promise<void>) =>
      Deno.test(`a model for ${has} of lane ${lane} at the endpoints of other tasks: ${client}`, () => act(newApp()));

    for (const major of MAJORS) {
      test(`openai ${major.major}`, async (app) => {
        const client = newClient(major, app, lane);
        for (const [name, { task, ask }] of Object.entries(ENDPOINTS)) {
          if (task === has) continue;
          const error = await assertRejects(
            async () => await ask(client, model),
            major.Sdk.UnprocessableEntityError,
            undefined,
            name,
          );
          assertEquals([error.status, error.code, error.param], [422, "model_task_mismatch", "model"], name);
          assertSays(error.message, model, lane, has, task);
        }
      });
    }

    if (has !== "chat") {
      for (const { major, Sdk } of MESSAGES_MAJORS) {
        test(`messages SDK ${major}`, async (app) => {
          const client = new Sdk({
            apiKey: ENV.TEAM_KEY,
            baseURL: `http://gateway/${lane}`,
            maxRetries: 0,
            fetch: fetchFrom(app),
          });
          const body = { model, max_tokens: 10, messages: HELLO };
          for (
            const ask of [
              () => client.messages.create(body),
              () => client.messages.create({ ...body, stream: true }),
              () => client.messages.countTokens({ model, messages: HELLO }),
            ]
          ) {
            const error = await assertRejects(async () => await ask(), Sdk.UnprocessableEntityError);
            const failure = error.error as { error: { details: { error_code: string } } };
            assertEquals(failure.error.details.error_code, "model_task_mismatch");
            assertStringIncludes(error.message, `is for ${has}`);
          }
        });
      }
    }

    if (has !== "rerank") {
      for (const [version, Client] of Object.entries(COHERE)) {
        test(`cohere-ai ${version}`, async (app) => {
          const client = newCohere(Client, app, lane);
          const error = await assertRejects(
            () => client.rerank({ model, query: "Hello", documents: ["a", "b"] }),
            Cohere.UnprocessableEntityError,
          );
          const { message, error: { code } } = error.body as { message: string; error: { code: string } };
          assertEquals(code, "model_task_mismatch");
          assertSays(message, model, lane, has, "rerank");
        });
      }
    }
  }
}
