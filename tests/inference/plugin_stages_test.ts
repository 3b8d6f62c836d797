/** Stages of plugins in a running gateway: how answers pass them. */
import { assertEquals } from "@std/assert";
import { builtIn, createApp, parseConfig } from "@laneway/gateway";
import { type Input, type ModelOperation, type Passed, type StagePlugin, z } from "@laneway/gateway/plugin";
import type { GenerateEvent, GenerateResponse } from "../../src/canonical/generate.ts";
import { CHAT, chatBody } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

/** A stage that appends its name to each text, in answers of one kind or of both. */
function appending(name: string, ...kinds: ("output" | "events")[]): StagePlugin {
  const passed: Passed<"generate"> = {
    input: { model: "", stream: false, messages: [] },
    output: (output: GenerateResponse) => ({
      ...output,
      content: output.content.map((part) => part.type === "text" ? { ...part, text: part.text + name } : part),
    }),
    events: {
      push(event: GenerateEvent, emit) {
        if (event.type === "part-end") {
          emit({ type: "part-delta", index: event.index, delta: { type: "text", text: name } });
        }
        emit(event);
      },
    },
  };
  return {
    name,
    description: "Appends its name.",
    options: z.strictObject({}),
    create: () => ({
      name,
      operations: ["generate"],
      request<K extends ModelOperation>(input: Input<K>) {
        return { input, ...Object.fromEntries(kinds.map((kind) => [kind, passed[kind]])) } as Passed<K>;
      },
    }),
  };
}

Deno.test("stages of plugins: an answer passes each, last stage first, by what it has for answers of its kind", async () => {
  const plugins = { stages: [appending("A", "events"), appending("B", "output"), appending("C", "output", "events")] };
  const upstream = fakeUpstream(({ body }) =>
    JSON.parse(body).stream ? answerStream([word("x"), ENDING]) : answerWhole("x")
  );
  const config = parseConfig({
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
    lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } } },
    store: { kind: "memory" },
    A: {},
    B: {},
    C: {},
  }, { plugins });
  const app = createApp({ config, plugins: { ...builtIn, ...plugins }, fetch: upstream.fetch, log() {} });
  const ask = async (stream: boolean) => {
    const body = JSON.stringify(chatBody({ stream }));
    return await (await app.fetch(new Request(`http://gateway${CHAT}`, { method: "POST", body }))).text();
  };
  assertEquals(JSON.parse(await ask(false)).choices[0].message.content, "xCBA");
  assertEquals([...(await ask(true)).matchAll(/"content":"(\w+)"/g)].map(([, text]) => text).join(""), "xCA");
});
