/** OpenAI's own WebSocket client for Responses, on Node, in front of the gateway. Needs Node, and npm to install it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { answerStream, ENDING, frame, word } from "../support/chat.ts";
import { KEY, KEYS } from "./codex.ts";
import { installLibraries, OPENAI_SDK } from "./install.ts";
import { record } from "./recorder.ts";

const CONFIG: ConfigInput = {
  upstreams: { scripted: { driver: "chat", baseUrl: "http://scripted.test/v1" }, sandbox: { driver: "sandbox" } },
  lanes: {
    oss: {
      models: {
        scripted: { task: "chat", targets: [{ upstream: "scripted", model: "scripted" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
  },
  keys: KEYS,
};

/** A call of the tool four times, then a text. */
function answer(turn: number): Response {
  if (turn === 5) return answerStream([word("All done."), ENDING]);
  const call = { index: 0, id: `call_${turn}`, type: "function", function: { name: "look_up", arguments: "{}" } };
  return answerStream([
    frame({ delta: { tool_calls: [call] } }),
    frame({ delta: {}, finish_reason: "tool_calls" }),
    "data: [DONE]\n\n",
  ]);
}

const installed = await installLibraries(OPENAI_SDK);
const reason = "reason" in installed ? ` (skipped: ${installed.reason})` : "";

Deno.test({
  name: `OpenAI's SDK: a loop of five turns over one WebSocket, a warm-up and errors${reason}`,
  ignore: reason !== "",
  async fn() {
    if ("reason" in installed) return;
    const sent: JsonObject[] = [];
    const app = newApp({
      config: CONFIG,
      now: Date.now,
      fetch: async (input, init) => answer(sent.push(await new Request(input, init).json())),
    });
    const { url, exchanges, stop } = record(app);
    const program = `${installed.folder}/responses_ws.mjs`;
    try {
      await Deno.copyFile(new URL("responses_ws.mjs", import.meta.url), program);
      const { stdout, stderr } = await new Deno.Command("node", {
        args: [program, `${url}/oss/v1`, KEY],
        stdin: "null",
        signal: AbortSignal.timeout(60_000),
      }).output();
      assertEquals(new TextDecoder().decode(stderr), "");
      const lines: JsonObject[] = new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
      const named = (name: string) => lines.filter((line) => line.name === name).map(({ name: _, ...line }) => line);

      const warmUp = ["response.created", "response.in_progress", "response.completed"];
      assertEquals(named("warm-up"), [{ output: [], seen: warmUp }]);
      assertEquals(
        named("turn"),
        [1, 2, 3, 4, 5].map((turn) => ({
          status: "completed",
          text: [turn === 5 ? "message" : "function_call"],
          turn,
        })),
      );
      // The model reads the whole conversation each time, though the client sends what is new.
      assertEquals(sent.map(({ messages }) => (messages as unknown[]).length), [2, 4, 6, 8, 10]);
      assertStringIncludes(JSON.stringify(sent[4]!.messages), "found 4");

      const errors = named("error").map(({ error }) => error as JsonObject);
      assertEquals(errors.map(({ code }) => code), [
        "previous_response_not_found",
        "model_not_found",
        "invalid_request",
      ]);
      assertEquals(named("after"), [{ status: "completed" }]);
      const [{ error }] = named("stranger") as [{ error: JsonObject }];
      assertStringIncludes(String(error.message), "401");
      assertEquals(exchanges.map(({ status }) => status), [101, 401]);
    } finally {
      app.abort();
      await app.settled();
      await stop();
    }
  },
});
