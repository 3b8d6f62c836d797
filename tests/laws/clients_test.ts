/** Wires that only clients speak, as the gateway itself speaks them to try a model. */
import { assert, assertEquals } from "@std/assert";
import { client as gemini } from "../../plugins/gemini/client.ts";
import { client as ollama } from "../../plugins/ollama/client.ts";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateResponse, OutputPart, ToolCallPart } from "../../src/canonical/generate.ts";
import { isJsonObject, parseJson } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { readEvents } from "../../src/programs/testing/stages.ts";
import { chatResponse } from "../support/chat_arbitraries.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { GEMINI, OLLAMA, TARGET } from "../support/wires.ts";

const INPUT = { model: "m", messages: [], stream: true };

/** Both wires have arguments as an object. */
function hasArguments(part: OutputPart): boolean {
  return part.type !== "tool-call" || part.kind === "function" && isJsonObject(argumentsOf(part));
}

function argumentsOf({ input }: ToolCallPart) {
  return input.trim() === "" ? {} : parseJson(input);
}

/** What an answer says. A refusal is text on both wires. */
function meaningOf({ content, finish, usage }: GenerateResponse) {
  const textOf = (...types: string[]) =>
    content.map((part) => types.includes(part.type) && "text" in part ? part.text : "").join("");
  const calls = content.filter((part) => part.type === "tool-call");
  const isEnd = finish.reason === "length" || finish.reason === "content-filter";
  return {
    said: textOf("text", "refusal"),
    thought: textOf("reasoning"),
    calls: calls.map((call) => [call.id, call.name, argumentsOf(call)]),
    reason: calls.length > 0 && !isEnd ? "tool-calls" : finish.reason,
    tokens: [usage.inputTokens, usage.outputTokens],
  };
}

for (const [wire, client] of [[OLLAMA, ollama], [GEMINI, gemini]] as const) {
  const read = (frames: Parameters<typeof readEvents>[1]) =>
    collect(readEvents(client.stream.reader(INPUT, TARGET, newContext(wire.name)), frames));

  law(`${wire.name}: the gateway's own client reads a streamed answer as it was meant`, chatResponse("m"), (answer) => {
    const meant = { ...answer, content: answer.content.filter(hasArguments) };
    // One of the wires has no word for what was filtered, and neither has one for other ends.
    if (meant.finish.reason !== "length") meant.finish = { reason: "stop" };
    const exchange = wire.newExchange(INPUT, newWireRequest({ model: "m" }));
    assertEquals(meaningOf(read(wire.writeFrames(replay(meant), exchange))), meaningOf(meant));
  });

  Deno.test(`${wire.name}: an answer that ends early, says an error or is no JSON fails in the gateway's own client`, () => {
    const exchange = wire.newExchange(INPUT, newWireRequest({ model: "m" }));
    const error = new GatewayError("upstream_error", "The model fell over");
    const failed = wire.writeFrames(
      [{ type: "start", model: "m", inputTokens: 1 }, { type: "error", error }],
      exchange,
    );
    for (
      const [frames, says] of [[failed, "fell over"], [[], "ended before"], [[{ data: "{" }], "not JSON"]] as const
    ) {
      try {
        read(frames);
        assert(false, `It does not fail: ${says}`);
      } catch (thrown) {
        assert(thrown instanceof GatewayError, String(thrown));
        assert(thrown.message.includes(says), thrown.message);
      }
    }
  });
}
