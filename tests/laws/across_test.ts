import { assert, assertEquals } from "@std/assert";
import type fc from "fast-check";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateRequest, GenerateResponse, ToolCallPart } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { fromArray } from "../support/chunks.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import * as messagesNormal from "../support/messages_normal_form.ts";
import * as chatNormal from "../support/normal_form.ts";
import { inChat, inMessages, type Script, script } from "../support/script.ts";
import { CHAT, MESSAGES, TARGET, type Wire } from "../support/wires.ts";

const copy = (value: unknown) => JSON.parse(JSON.stringify(value));

/** What an upstream of the wire `to` is sent for what a client of the wire `from` asks. */
function send(body: JsonObject, from: Wire, to: Wire): { sent: JsonObject; input: GenerateRequest; notes: string[] } {
  const context = newContext(from.name);
  const input = from.parseRequest(newWireRequest(copy(body)), context);
  return { sent: copy(to.serializeRequest(input, context)), input, notes: context.notes };
}

law("chat to messages: a conversation is sent as its client would have written it there", script, (told) => {
  const { sent, notes } = send(inChat(told, "m"), CHAT, MESSAGES);
  assertEquals(notes, []);
  const there = inMessages(withoutMarks(told), TARGET.model);
  assertEquals(copy(messagesNormal.normalRequest(sent)), copy(messagesNormal.normalRequest(there)));
});

/** The chat wire has no mark for a failed result, only words. */
function withoutMarks(told: Script): Script {
  const turns = told.turns.map((turn) => ({
    ...turn,
    calls: turn.calls.map((call) => call.failed ? { ...call, failed: false, result: `Error: ${call.result}` } : call),
  }));
  return { ...told, turns };
}

law("messages to chat: a conversation is sent as its client would have written it there", script, (told) => {
  const { sent, notes } = send(inMessages(told, "m"), MESSAGES, CHAT);
  assertEquals(notes, []);
  assertEquals(copy(chatNormal.normalRequest(sent)), copy(chatNormal.normalRequest(inChat(told, TARGET.model))));
});

// Requests as odd as their wire allows

interface Outline {
  calls: { id: string; name: string; input?: unknown }[];
  /** Of calls that were made. */
  results: string[];
  /** What the user and the assistant say, and what answers no call. */
  said: string[];
}

function outlineOf({ messages }: GenerateRequest): Outline {
  const outline: Outline = { calls: [], results: [], said: [] };
  let open: string[] = [];
  for (const { role, content } of messages) {
    if (role === "assistant") open = content.flatMap((part) => part.type === "tool-call" ? [part.id] : []);
    for (const part of content) {
      if (part.type === "tool-call") outline.calls.push({ id: part.id, name: part.name, ...inputOf(part) });
      else if (part.type === "tool-result" && open.includes(part.id)) {
        open = open.filter((id) => id !== part.id);
        outline.results.push(part.id);
      } else if (part.type === "text" && role !== "system") outline.said.push(part.text);
      else if (part.type === "refusal") outline.said.push(part.text);
    }
  }
  return outline;
}

/** The input, where it is one that every wire can carry. */
function inputOf({ kind, input }: ToolCallPart): { input?: unknown } {
  if (kind === "custom") return { input: { input } };
  try {
    const value: unknown = JSON.parse(input);
    return isJsonObject(value) ? { input: value } : {};
  } catch {
    return {};
  }
}

/** Every result stands right after the turn that called for it, and every call but those at the end has one. */
function assertAnswered({ messages }: GenerateRequest): void {
  let open: string[] = [];
  for (const { role, content } of messages) {
    for (const part of content) {
      if (part.type !== "tool-result") continue;
      assert(open.includes(part.id), `${part.id} was called for`);
      open = open.filter((id) => id !== part.id);
    }
    if (role === "tool") continue;
    assertEquals(open, []);
    open = content.flatMap((part) => part.type === "tool-call" ? [part.id] : []);
  }
}

const pairs: { from: Wire; to: Wire; request: fc.Arbitrary<JsonObject>; response: fc.Arbitrary<GenerateResponse> }[] =
  LAW_INPUTS.flatMap(({ wire: from, request, response }) =>
    LAW_INPUTS.filter(({ wire: to }) => to !== from)
      .map(({ wire: to }) => ({ from, to, request, response: response("m") }))
  );

for (const { from, to, request, response } of pairs) {
  law(`${from.name} to ${to.name}: words, calls and results come through, in their order`, request, (body) => {
    let told: ReturnType<typeof send>;
    try {
      told = send(body, from, to);
    } catch (error) {
      assert(error instanceof GatewayError && error.details.param === "tool_choice");
      return;
    }
    const messages = told.sent.messages;
    if (Array.isArray(messages) && messages.length === 0) return;
    const back = to.parseRequest(newWireRequest(told.sent), newContext(to.name));
    assertAnswered(back);
    const [meant, got] = [outlineOf(told.input), outlineOf(back)];
    for (const id of new Set(meant.results)) {
      const times = (ids: string[]) => ids.filter((one) => one === id).length;
      assert(times(got.results) >= times(meant.results), `The result of ${id} is there`);
    }
    assertEquals(got.calls.map(({ id, name }) => [id, name]), meant.calls.map(({ id, name }) => [id, name]));
    for (const [position, { input }] of meant.calls.entries()) {
      if (input !== undefined) assertEquals(got.calls[position]!.input, copy(input));
    }
    const all = got.said.join("\n\n");
    let at = 0;
    for (const words of meant.said.filter((one) => one.trim() !== "")) {
      const found = all.indexOf(words, at);
      assert(found !== -1, `"${words}" is lost in ${all}`);
      at = found + words.length;
    }
  });

  law(
    `${from.name} to ${to.name}: an answer's words and calls come through, whole and streamed`,
    response,
    async (answer) => {
      const asked = newWireRequest({
        model: "m",
        messages: [{ role: "user", content: "a" }],
        max_tokens: 9,
        stream: true,
      });
      const input = to.parseRequest(asked, newContext(to.name));
      const exchange = to.newExchange(input, asked);
      const whole = to.parseResponse(await to.serializeResponse(answer, exchange), input, newContext(to.name));
      assertEquals(meaningOf(whole, answer), meaningOf(answer));
      const frames = to.serializeStream(fromArray(replay(answer)), exchange);
      const streamed = await collect(to.parseStream(frames, input, newContext(to.name)));
      assertEquals(meaningOf(streamed, answer), meaningOf(answer));
    },
  );
}

/** What an answer says, as every wire can tell it: the input of a call where `meant` has one that all of them carry. */
function meaningOf(
  { content, finish }: GenerateResponse,
  meant: Pick<GenerateResponse, "content"> = { content },
): unknown {
  const callsIn = (parts: GenerateResponse["content"]) => parts.filter((part) => part.type === "tool-call");
  const inputs = callsIn(meant.content).map(inputOf);
  return {
    said: content.flatMap((part) => part.type === "text" || part.type === "refusal" ? [part.text] : []).join(""),
    thought: content.flatMap((part) => part.type === "reasoning" ? [part.text] : []).join(""),
    calls: callsIn(content).map((part, position) => [part.id, part.name, inputs[position]?.input && inputOf(part)]),
    reason: finish.reason === "other" ? "stop" : finish.reason,
  };
}
