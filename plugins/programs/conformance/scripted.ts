/** What is asked of a gateway behind which the kit stands, too, as the server of the model: on the chat wire, in a script. */
import { asObjects, isJsonObject, type JsonObject } from "../../../src/canonical/json.ts";
import type { CheckCase, CheckDesk, CheckedAnswer } from "../../../src/contract/conformance.ts";
import { complaintsOf, ROOM, TOOL, WANTS_TOOL } from "./cases.ts";
import { objectIn } from "./reading.ts";

const USAGE = { prompt_tokens: 1234, completion_tokens: 56, total_tokens: 1290 };
const OTHER: typeof TOOL = { ...TOOL, name: "get_time" };

function chunk(delta: JsonObject, finish_reason: string | null = null): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason }],
  };
}

const LAST = { ...chunk({}), choices: [], usage: USAGE };

/** A stream of these chunks. `pieces`: how many bytes each read brings. */
function streamOf(chunks: readonly JsonObject[], { isCut = false, pieces = Infinity } = {}): () => Response {
  const text = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("") + (isCut ? "" : "data: [DONE]\n\n");
  const bytes = new TextEncoder().encode(text);
  return () => {
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at += Math.min(pieces, bytes.length)));
        else if (isCut) controller.error(new Error("The connection was cut"));
        else controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

function wholeOf(message: JsonObject, finish_reason = "stop"): () => Response {
  const choices = [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }];
  return () =>
    Response.json({ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m", choices, usage: USAGE });
}

function call(name: string, input: string, index?: number): JsonObject {
  return {
    ...index !== undefined && { index },
    id: `call_${name}`,
    type: "function",
    function: { name, arguments: input },
  };
}

function more(index: number, input: string): JsonObject {
  return { index, function: { arguments: input } };
}

function callsAre(answer: CheckedAnswer, expected: readonly [name: string, input: JsonObject][]): string[] {
  const found = JSON.stringify(answer.calls.map(({ name, input }) => [name, objectIn(input) ?? input]));
  return found === JSON.stringify(expected) ? [] : [`The calls are ${found}, not ${JSON.stringify(expected)}`];
}

async function streamed({ wire, model, ask }: CheckDesk, tools?: readonly typeof TOOL[]): Promise<CheckedAnswer> {
  const request = wire.request({ model, text: WANTS_TOOL, tools, stream: true, maxTokens: ROOM });
  return wire.readStream(await ask(wire.path, request));
}

/** The answer where the model's server breaks off: an error, or a stream. One that never ends is neither. */
async function brokenOff({ wire, model, ask }: CheckDesk, tools?: readonly typeof TOOL[]) {
  const reply = await ask(wire.path, wire.request({ model, text: "ping", tools, stream: true, maxTokens: ROOM }));
  const { status } = reply;
  const complaints = status === 200
    ? undefined
    : status >= 500
    ? wire.readError(reply)
    : [status === 0 ? "No answer came to its end" : `The status is ${status}`];
  return { reply, answer: wire.readStream(reply), complaints };
}

function scripted(
  id: string,
  requirement: string,
  run: (desk: Required<CheckDesk>) => Promise<readonly string[]>,
): CheckCase {
  return { id, requirement, isScripted: true, run: (desk) => run(desk as Required<CheckDesk>) };
}

const PARIS = { city: "Paris" };

const parallelCalls = scripted(
  "parallel-calls",
  "Calls whose pieces come by turns stay apart: gateways that merge them hand agents arguments of two tools",
  async (desk) => {
    desk.upstream.answer(streamOf([
      chunk({ role: "assistant", tool_calls: [call("get_weather", "", 0)] }),
      chunk({ tool_calls: [call("get_time", "", 1)] }),
      chunk({ tool_calls: [more(0, '{"city"')] }),
      chunk({ tool_calls: [more(1, '{"city": "Ro')] }),
      chunk({ tool_calls: [more(0, ': "Paris"}'), more(1, 'me"}')] }),
      chunk({}, "tool_calls"),
      LAST,
    ]));
    const answer = await streamed(desk, [TOOL, OTHER]);
    return [...complaintsOf(answer), ...callsAre(answer, [["get_weather", PARIS], ["get_time", { city: "Rome" }]])];
  },
);

const smallPieces = scripted(
  "small-pieces",
  "A stream that comes byte by byte is the same stream",
  async (desk) => {
    desk.upstream.answer(streamOf([
      chunk({ role: "assistant", content: "Grüße, 漢字 👋" }),
      chunk({ tool_calls: [call("get_weather", '{"city": "Paris"}', 0)] }),
      chunk({}, "tool_calls"),
      LAST,
    ], { pieces: 1 }));
    const answer = await streamed(desk, [TOOL]);
    const text = answer.text === "Grüße, 漢字 👋" ? [] : [`The text is ${JSON.stringify(answer.text)}`];
    return [...complaintsOf(answer), ...text, ...callsAre(answer, [["get_weather", PARIS]])];
  },
);

const cutStream = scripted(
  "cut-stream",
  "A stream that is cut does not end well: an agent would take half an answer for a whole one",
  async (desk) => {
    desk.upstream.answer(streamOf([chunk({ role: "assistant", content: "Half of" })], { isCut: true }));
    const { reply, answer, complaints } = await brokenOff(desk);
    if (complaints || answer.isFailed || reply.isCut) return complaints ?? [];
    return [`It ended as "${answer.stop}", without an error`];
  },
);

const cutCall = scripted(
  "cut-call",
  "A call that is cut in its arguments is not handed over as a call that may run",
  async (desk) => {
    desk.upstream.answer(
      streamOf([chunk({ role: "assistant", tool_calls: [call("get_weather", '{"city": "Pa', 0)] })], { isCut: true }),
    );
    const { answer, complaints } = await brokenOff(desk, [TOOL]);
    if (complaints) return complaints;
    return answer.isFailed || answer.stop !== "tools" ? [] : ["It ended with the call"];
  },
);

const reasoning = scripted(
  "reasoning-comes-back",
  "What the model thought reaches the client, and the model again in the turn of a tool's result",
  async ({ wire, model, ask, upstream }) => {
    const thought = "The tool knows the weather.";
    upstream.answer(
      wholeOf({ reasoning_content: thought, tool_calls: [call("get_weather", '{"city": "Paris"}')] }, "tool_calls"),
      wholeOf({ content: "Sunny." }),
    );
    const request = wire.request({ model, text: WANTS_TOOL, tools: [TOOL], maxTokens: ROOM });
    const reply = await ask(wire.path, request);
    const answer = wire.readWhole(reply);
    const before = upstream.asked.length;
    await ask(wire.path, wire.withResults(request, reply, new Map(answer.calls.map(({ id }) => [id, "Sunny"]))));
    const sent = JSON.stringify(upstream.asked[before] ?? {});
    return [
      ...complaintsOf(answer),
      ...answer.thoughts.includes(thought) ? [] : ["The client is not shown what the model thought"],
      ...sent.includes(thought) ? [] : ["The model does not get its thought again"],
    ];
  },
);

const results = scripted(
  "results-in-place",
  "The results of parallel calls reach the model, each by the id of its call",
  async ({ wire, model, ask, upstream }) => {
    const calls = [call("get_weather", '{"city": "Paris"}'), call("get_time", '{"city": "Rome"}')];
    upstream.answer(wholeOf({ tool_calls: calls }, "tool_calls"), wholeOf({ content: "Done." }));
    const request = wire.request({ model, text: WANTS_TOOL, tools: [TOOL, OTHER], maxTokens: ROOM });
    const reply = await ask(wire.path, request);
    const answer = wire.readWhole(reply);
    const before = upstream.asked.length;
    await ask(
      wire.path,
      wire.withResults(request, reply, new Map(answer.calls.map(({ id, name }) => [id, `of ${name}`]))),
    );
    const turns = asObjects(upstream.asked[before]?.messages);
    const called = turns.flatMap(({ tool_calls }) => asObjects(tool_calls));
    return called.flatMap(({ id, function: of }) => {
      const name = isJsonObject(of) ? of.name : "";
      const result = turns.find(({ role, tool_call_id }) => role === "tool" && tool_call_id === id);
      return JSON.stringify(result?.content ?? "").includes(`of ${name}`)
        ? []
        : [`The result of ${name} did not come back to it`];
    }).concat(called.length === 2 ? [] : [`${called.length} calls came back, not 2`]);
  },
);

const usagePassed = scripted(
  "usage-is-the-models",
  "Usage is what the model's server counted",
  async ({ wire, model, ask, upstream }) => {
    upstream.answer(wholeOf({ content: "pong" }), streamOf([chunk({ content: "pong" }, "stop"), LAST]));
    const question = { model, text: "ping", maxTokens: ROOM };
    const one = wire.readWhole(await ask(wire.path, wire.request(question))).usage;
    const other = wire.readStream(await ask(wire.path, wire.request({ ...question, stream: true }))).usage;
    return [["whole", one], ["streamed", other]].flatMap(([name, found]) =>
      JSON.stringify(found) === '{"input":1234,"output":56}' ? [] : [`${name}: ${JSON.stringify(found)}`]
    );
  },
);

const lengthPassed = scripted(
  "length-is-the-models",
  "An answer that the model's server cut at its limit ends so",
  async (desk) => {
    desk.upstream.answer(streamOf([chunk({ content: "One, two" }), chunk({}, "length"), LAST]));
    const answer = await streamed(desk);
    return answer.stop === "length" ? complaintsOf(answer) : [`It ended as "${answer.stop}"`];
  },
);

const refused = scripted(
  "refusal-is-passed",
  "What the model's server refuses is the client's error, in its own form, with the reason",
  async ({ wire, model, ask, upstream }) => {
    const message = "This model's maximum context length is 4096 tokens";
    upstream.answer(() => Response.json({ error: { message, type: "invalid_request_error" } }, { status: 400 }));
    const reply = await ask(wire.path, wire.request({ model, text: "ping", maxTokens: ROOM }));
    const status = reply.status === 400 || reply.status === 413 ? [] : [`The status is ${reply.status}`];
    return [...status, ...wire.readError(reply), ...reply.text.includes("4096") ? [] : ["The reason is lost"]];
  },
);

const unknownFields = scripted(
  "nothing-lost",
  "The text of an answer arrives as it was sent, with every character",
  async (desk) => {
    const text =
      'Tabs\t, "quotes", \\ backslashes, \u2028 and \ud83d\ude00, <b>markup</b> & {braces}\n\n```ts\nlet a = 1;\n```';
    desk.upstream.answer(
      streamOf([...text].map((character) => chunk({ content: character })).concat(chunk({}, "stop"), LAST)),
    );
    const answer = await streamed(desk);
    return answer.text === text ? complaintsOf(answer) : [`The text is ${JSON.stringify(answer.text)}`];
  },
);

/** In this order. */
export const scriptedCases: readonly CheckCase[] = [
  parallelCalls,
  smallPieces,
  cutStream,
  cutCall,
  reasoning,
  results,
  usagePassed,
  lengthPassed,
  refused,
  unknownFields,
];
