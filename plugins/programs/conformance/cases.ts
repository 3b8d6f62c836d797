/** What is asked of any server of a wire, with the model that it has. */
import type { CheckCase, CheckDesk, CheckedAnswer, CheckReply, CheckTool } from "../../../src/contract/conformance.ts";

const ROOM = 800;
const TOOL: CheckTool = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const WANTS_TOOL = "What is the weather in Paris? Use the tool get_weather.";
const UNKNOWN_MODEL = "no-such-model-of-anybody";

function complaintsOf({ complaints, isRefused }: CheckedAnswer, more: Record<string, boolean> = {}): string[] {
  if (isRefused) return complaints;
  return [...complaints, ...Object.entries(more).flatMap(([sentence, isSo]) => isSo ? [sentence] : [])];
}

/** The complaints about an error, which has to have one of these statuses. */
function complaintsOfError({ wire }: CheckDesk, reply: CheckReply, statuses: readonly number[]): string[] {
  const { status } = reply;
  if (!statuses.includes(status)) return [`The status is ${status || "none"}, not ${statuses.join(" or ")}`];
  return wire.readError(reply);
}

const whole: CheckCase = {
  id: "whole",
  requirement: "A whole answer has every field that the vendor's own SDK reads",
  async run({ wire, model, ask }) {
    const answer = wire.readWhole(await ask(wire.path, wire.request({ model, text: "Say: pong", maxTokens: ROOM })));
    return complaintsOf(answer, { "It says nothing": answer.text === "" && answer.thoughts === "" });
  },
};

const stream: CheckCase = {
  id: "stream",
  requirement: "A stream keeps the wire's grammar from its first event to its one end",
  async run({ wire, model, ask }) {
    const request = wire.request({ model, text: "Say: pong", stream: true, maxTokens: ROOM });
    const answer = wire.readStream(await ask(wire.path, request));
    return complaintsOf(answer, {
      "It says nothing": answer.text === "" && answer.thoughts === "",
      "It failed": answer.isFailed,
    });
  },
};

const usage: CheckCase = {
  id: "usage",
  requirement: "Whole answers and streams count their tokens: agents decide by them when to shorten a conversation",
  async run({ wire, model, ask }) {
    const question = { model, text: "Say: pong", maxTokens: ROOM };
    const one = wire.readWhole(await ask(wire.path, wire.request(question)));
    const other = wire.readStream(await ask(wire.path, wire.request({ ...question, stream: true })));
    const refusals = [one, other].filter(({ isRefused }) => isRefused).flatMap(({ complaints }) => complaints);
    if (refusals.length > 0) return refusals;
    const isCounted = ({ usage }: CheckedAnswer) => usage !== undefined && usage.input > 0 && usage.output > 0;
    return [
      ...isCounted(one) ? [] : ["A whole answer has no usage above 0"],
      ...isCounted(other) ? [] : ["A stream has no usage above 0"],
    ];
  },
};

function toolCase(isStreamed: boolean): CheckCase {
  return {
    id: isStreamed ? "tool-call-streamed" : "tool-call",
    requirement: `A call ${
      isStreamed ? "in a stream" : "in a whole answer"
    } has an id, a name and arguments that are JSON`,
    async run({ wire, model, ask }) {
      const question = { model, text: WANTS_TOOL, tools: [TOOL], toolChoice: "any" as const, maxTokens: ROOM };
      const reply = await ask(wire.path, wire.request({ ...question, stream: isStreamed }));
      if (reply.status >= 400 && reply.status < 500) {
        return { skipped: `tools are refused: ${reply.text.slice(0, 120)}` };
      }
      const answer = isStreamed ? wire.readStream(reply) : wire.readWhole(reply);
      const names = answer.calls.filter(({ name }) => name !== TOOL.name).map(({ name }) => name);
      return complaintsOf(answer, {
        "A tool had to be called, and none was": answer.calls.length === 0,
        [`It calls ${names.join(", ")}, which nobody offered`]: names.length > 0,
        "It has calls, and does not end with them": answer.calls.length > 0 && answer.stop !== "tools",
      });
    },
  };
}

const toolTurn: CheckCase = {
  id: "tool-turn",
  requirement: "The next turn takes back the answer as it was given, and the results of its calls",
  async run({ wire, model, ask }) {
    const question = { model, text: WANTS_TOOL, tools: [TOOL], maxTokens: ROOM };
    const forced = wire.request({ ...question, toolChoice: "any" });
    const reply = await ask(wire.path, forced);
    const { calls } = wire.readWhole(reply);
    if (calls.length === 0) return { skipped: "the model called no tool" };
    const results = new Map(calls.map(({ id }) => [id, "Sunny, 21 degrees"]));
    const next = await ask(wire.path, wire.withResults(wire.request(question), reply, results));
    return next.status === 200
      ? complaintsOf(wire.readWhole(next))
      : [`The status is ${next.status}: ${next.text.slice(0, 160)}`];
  },
};

const noTools: CheckCase = {
  id: "no-tool-call",
  requirement: "With a tool choice of none, no tool is called",
  async run({ wire, model, ask }) {
    const question = { model, text: WANTS_TOOL, tools: [TOOL], toolChoice: "none" as const, maxTokens: ROOM };
    const reply = await ask(wire.path, wire.request(question));
    if (reply.status >= 400 && reply.status < 500) return { skipped: `refused: ${reply.text.slice(0, 120)}` };
    const answer = wire.readWhole(reply);
    return complaintsOf(answer, { "A tool was called": answer.calls.length > 0 });
  },
};

const limit: CheckCase = {
  id: "length",
  requirement: "An answer that its limit cuts says so: agents would take it for whole",
  async run({ wire, model, ask }) {
    const question = { model, text: "Count from one to two hundred, in words.", maxTokens: 16 };
    const reply = await ask(wire.path, wire.request(question));
    const answer = wire.readWhole(reply);
    if (answer.stop === "end" && (answer.usage?.output ?? 0) < 16) return { skipped: "the answer was shorter" };
    return complaintsOf(answer, { [`It ended as "${answer.stop}"`]: answer.stop !== "length" });
  },
};

const system: CheckCase = {
  id: "instructions",
  requirement: "Instructions of the system are taken",
  async run({ wire, model, ask }) {
    const question = { model, system: "Answer in one word.", text: "Say: pong", maxTokens: ROOM };
    return complaintsOf(wire.readWhole(await ask(wire.path, wire.request(question))));
  },
};

const unicode: CheckCase = {
  id: "unicode",
  requirement: "Text of every script passes, also where it is sent in small pieces",
  async run({ wire, model, ask }) {
    const text = JSON.stringify(
      wire.request({ model, text: "Say: pøng 漢字 👩‍👩‍👧 \u202e", stream: true, maxTokens: ROOM }),
    );
    const pieces = text.match(/.{1,7}/gsu) ?? [];
    const answer = wire.readStream(await ask(wire.path, pieces));
    return complaintsOf(answer, { "It failed": answer.isFailed });
  },
};

const together: CheckCase = {
  id: "together",
  requirement: "Eight requests at once are answered, each by itself",
  async run({ wire, model, ask }) {
    const request = wire.request({ model, text: "Say: pong", stream: true, maxTokens: ROOM });
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask(wire.path, request)));
    const answers = replies.map((reply) => wire.readStream(reply));
    return [...new Set(answers.flatMap((answer) => complaintsOf(answer, { "It failed": answer.isFailed })))];
  },
};

const unknownModel: CheckCase = {
  id: "unknown-model",
  requirement: "A model that is not there is an error of the wire's own form, which names it",
  async run(desk) {
    const { wire, ask } = desk;
    const reply = await ask(wire.path, wire.request({ model: UNKNOWN_MODEL, text: "ping", maxTokens: 1 }));
    if (reply.status === 200) return { skipped: "every model name is served" };
    if (reply.status === 503) return { skipped: "who knows the models cannot be asked now" };
    return [
      ...complaintsOfError(desk, reply, [400, 404]),
      ...reply.text.includes(UNKNOWN_MODEL) ? [] : ["The error does not name the model"],
    ];
  },
};

const brokenJson: CheckCase = {
  id: "broken-json",
  requirement: "A body that is no JSON is a 400 of the wire's own form",
  run: async (desk) => complaintsOfError(desk, await desk.ask(desk.wire.path, '{"model": '), [400]),
};

const missing: CheckCase = {
  id: "missing-field",
  requirement: "A body without its conversation is a 400 or 422 of the wire's own form",
  run: async (desk) => complaintsOfError(desk, await desk.ask(desk.wire.path, { model: desk.model }), [400, 422]),
};

const wrongType: CheckCase = {
  id: "wrong-type",
  requirement: "A field of the wrong type is a 400 or 422 of the wire's own form",
  async run(desk) {
    const { wire, model, ask } = desk;
    const request = wire.request({ model, text: "ping", maxTokens: 1 });
    const list = "input" in request ? "input" : "messages";
    return complaintsOfError(desk, await ask(wire.path, { ...request, [list]: 5 }), [400, 422]);
  },
};

const afterwards: CheckCase = {
  id: "still-there",
  requirement: "After all of this the server answers as before",
  run: whole.run,
};

/** In this order. */
export const cases: readonly CheckCase[] = [
  whole,
  stream,
  usage,
  toolCase(false),
  toolCase(true),
  toolTurn,
  noTools,
  limit,
  system,
  unicode,
  together,
  unknownModel,
  brokenJson,
  missing,
  wrongType,
  afterwards,
];

export { complaintsOf, ROOM, TOOL, WANTS_TOOL };
