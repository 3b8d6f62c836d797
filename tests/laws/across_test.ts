import { assert, assertEquals } from "@std/assert";
import type fc from "fast-check";
import { collect } from "../../src/canonical/collect.ts";
import type {
  GenerateRequest,
  GenerateResponse,
  Message,
  OutputPart,
  ToolCallPart,
} from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import * as messagesNormal from "../support/messages_normal_form.ts";
import * as chatNormal from "../support/normal_form.ts";
import * as responsesNormal from "../support/responses_normal_form.ts";
import { inChat, inMessages, inResponses, type Script, script } from "../support/script.ts";
import { CHAT, MESSAGES, RESPONSES, TARGET, type Wire } from "../support/wires.ts";

const copy = (value: unknown) => JSON.parse(JSON.stringify(value));

/** What an upstream of the wire `to` is sent for what a client of the wire `from` asks. */
function send(body: JsonObject, from: Wire, to: Wire): { sent: JsonObject; input: GenerateRequest; notes: string[] } {
  const context = newContext(from.name);
  const input = from.parseRequest(newWireRequest(copy(body)), context);
  return { sent: copy(to.serializeRequest(input, context)), input, notes: context.notes };
}

/** A wire as its own clients and upstreams write it. */
interface Telling {
  wire: Wire;
  tell(request: Script, model: string): JsonObject;
  normal(body: JsonObject): JsonObject;
  /** What it has no way to say. */
  cannot?: (keyof Script)[];
}

const TELLINGS: Telling[] = [
  { wire: CHAT, tell: inChat, normal: chatNormal.normalRequest },
  { wire: MESSAGES, tell: inMessages, normal: messagesNormal.normalRequest },
  { wire: RESPONSES, tell: inResponses, normal: responsesNormal.normalRequest, cannot: ["stop"] },
];

for (const from of TELLINGS) {
  for (const to of TELLINGS.filter((one) => one !== from)) {
    law(
      `${from.wire.name} to ${to.wire.name}: a conversation is sent as its client would have written it there`,
      script,
      (request) => {
        const common = without([...from.cannot ?? [], ...to.cannot ?? []], request);
        const { sent, notes } = send(from.tell(common, "m"), from.wire, to.wire);
        assertEquals(notes, []);
        const there = to.tell(from.wire === MESSAGES ? common : withoutMarks(common), TARGET.model);
        assertEquals(copy(to.normal(withoutStrict(sent))), copy(to.normal(withoutStrict(there))));
      },
    );
  }
}

function without(fields: (keyof Script)[], request: Script): Script {
  return { ...request, ...Object.fromEntries(fields.map((field) => [field, undefined])) };
}

/** Only the messages wire has a mark for a failed result; the others say it in words. */
function withoutMarks(request: Script): Script {
  const turns = request.turns.map((turn) => ({
    ...turn,
    calls: turn.calls.map((call) => call.failed ? { ...call, failed: false, result: `Error: ${call.result}` } : call),
  }));
  return { ...request, turns };
}

/** That a schema is not enforced must be said on one wire, and is the default of the others. */
function withoutStrict(body: JsonObject): JsonObject {
  const tools = JSON.stringify(body.tools ?? []).replaceAll('"strict":false,', "").replaceAll(',"strict":false', "");
  return { ...body, tools: JSON.parse(tools) };
}

// Requests as odd as their wire allows

interface Outline {
  calls: { id: string; name: string; input?: unknown }[];
  /** Of calls that were made. */
  results: string[];
  /** What the user and the assistant say, and what answers no call. */
  said: string[];
  /** One wire tells refusals beside all that is said, another among it. */
  refused: string[];
}

/** On one wire, each thing that the assistant says or a tool answers is a turn of its own. */
function turnsOf({ messages }: GenerateRequest): Message[] {
  const turns: Message[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.role === "assistant" && message.role === "assistant") {
      turns[turns.length - 1] = { ...last, content: [...last.content, ...message.content] };
    } else turns.push(message);
  }
  return turns;
}

function outlineOf(request: GenerateRequest): Outline {
  const outline: Outline = { calls: [], results: [], said: [], refused: [] };
  let open: string[] = [];
  for (const { role, content } of turnsOf(request)) {
    if (role === "assistant") open = content.flatMap((part) => part.type === "tool-call" ? [part.id] : []);
    for (const part of content) {
      if (part.type === "tool-call") outline.calls.push({ id: part.id, name: part.name, ...inputOf(part) });
      else if (part.type === "tool-result" && open.includes(part.id)) {
        open = open.filter((id) => id !== part.id);
        outline.results.push(part.id);
      } else if (part.type === "text" && role !== "system") outline.said.push(part.text);
      else if (part.type === "refusal") outline.refused.push(part.text);
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
function assertAnswered(request: GenerateRequest): void {
  let open: string[] = [];
  for (const { role, content } of turnsOf(request)) {
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
    let request: ReturnType<typeof send>;
    try {
      request = send(body, from, to);
    } catch (error) {
      assert(error instanceof GatewayError && error.details.param === "tool_choice");
      return;
    }
    // A choice of a tool that is not offered is for the server to refuse.
    const { tool_choice: _, ...sent } = request.sent;
    const { messages = sent.input, instructions } = sent;
    if (Array.isArray(messages) && messages.length === 0 && !instructions) return;
    const back = to.parseRequest(newWireRequest(sent), newContext(to.name));
    assertAnswered(back);
    const [meant, got] = [outlineOf(request.input), outlineOf(back)];
    for (const id of new Set(meant.results)) {
      const times = (ids: string[]) => ids.filter((one) => one === id).length;
      assert(times(got.results) >= times(meant.results), `The result of ${id} is there`);
    }
    assertEquals(got.calls.map(({ id, name }) => [id, name]), meant.calls.map(({ id, name }) => [id, name]));
    for (const [position, { input }] of meant.calls.entries()) {
      if (input !== undefined) assertEquals(got.calls[position]!.input, copy(input));
    }
    const all = [...got.said, ...got.refused].join("\n\n");
    for (const words of meant.refused) assert(all.includes(words), `"${words}" is lost in ${all}`);
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
        input: "a",
        max_tokens: 9,
        stream: true,
      });
      const input = to.parseRequest(asked, newContext(to.name));
      const exchange = to.newExchange(input, asked);
      const whole = to.parseResponse(await to.serializeResponse(answer, exchange), input, newContext(to.name));
      const meant = { ...answer, content: answerIn(to, answer.content) };
      assertEquals(meaningOf(whole, answer), meaningOf(meant));
      const frames = to.writeFrames(replay(answer), exchange);
      const streamed = collect(to.readEvents(frames, input, newContext(to.name)));
      assertEquals(meaningOf(streamed, answer), meaningOf(meant));
    },
  );
}

/** The parts of an answer as another wire tells them: nothing of what it does not have, and no words for it either. */
function answerIn(to: Wire, content: OutputPart[]): OutputPart[] {
  return content.filter((part) => part.type !== "opaque" || part.extra.wire === to.name)
    .map((part) => part.type === "refusal" && to === MESSAGES ? { type: "text", text: part.text } : part);
}

/** What an answer says, as every wire can tell it: the input of a call where `meant` has one that all of them carry. */
function meaningOf(
  { content, finish }: GenerateResponse,
  meant: Pick<GenerateResponse, "content"> = { content },
): unknown {
  const callsIn = (parts: GenerateResponse["content"]) => parts.filter((part) => part.type === "tool-call");
  const inputs = callsIn(meant.content).map(inputOf);
  const textOf = (type: "text" | "refusal" | "reasoning") =>
    content.flatMap((part) => part.type === type ? [part.text] : []).join("");
  return {
    said: textOf("text"),
    refused: textOf("refusal"),
    thought: textOf("reasoning"),
    calls: callsIn(content).map((part, position) => [part.id, part.name, inputs[position]?.input && inputOf(part)]),
    reason: finish.reason === "other" ? "stop" : finish.reason,
  };
}
