/** Random requests of every kind to upstreams of every wire, many of which fail. */
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { chatAnswer, chatRequest } from "../support/chat_arbitraries.ts";
import { hostileJson, hostileStream } from "../support/fuzz.ts";
import { isOk, isStream } from "../support/fixtures.ts";
import {
  asForm,
  FORM_PATHS,
  HOSTILE_BODIES,
  hostileForms,
  hostilePaths,
  OTHER_BODIES,
} from "../support/hostile_requests.ts";
import { messagesAnswer, messagesRequest } from "../support/messages_arbitraries.ts";
import { responsesAnswer, responsesRequest } from "../support/responses_arbitraries.ts";
import { script } from "../support/script.ts";
import { type CaseList, stepsOf } from "./cases.ts";
import { type Asked, askFor, CLIENT_WIRES, type ClientWire, pathOf, post } from "./clients.ts";
import { UPSTREAM_WIRES, type UpstreamWire } from "./gateways.ts";
import { failing, FAILURES, FIXTURES, goodAnswer, jsonPlay, streamPlay } from "./plays.ts";
import { Random } from "./random.ts";
import type { Script } from "./upstream.ts";

const ARBITRARIES = {
  chat: [chatRequest, chatAnswer],
  messages: [messagesRequest, messagesAnswer],
  responses: [responsesRequest, responsesAnswer],
} as const;

/** What a client says, for any lane and model. */
type Content =
  | { type: "script"; script: typeof script extends fc.Arbitrary<infer T> ? T : never }
  | { type: "body"; body: JsonObject }
  | { type: "text"; text: string };

const byScript: fc.Arbitrary<Content> = script.map((script) => ({ type: "script", script }));

function contentFor(client: ClientWire): fc.Arbitrary<Content> {
  if (client === "gemini" || client === "ollama") return byScript;
  const bodies = ARBITRARIES[client][0].map((body): Content => ({ type: "body", body }));
  const hostile = HOSTILE_BODIES.find(({ wire }) => wire === client)!.bodies.map((text): Content => ({
    type: "text",
    text,
  }));
  return fc.oneof({ weight: 3, arbitrary: byScript }, { weight: 4, arbitrary: bodies }, {
    weight: 2,
    arbitrary: hostile,
  });
}

/** Answers that no server has given yet; by default a recorded one is given. */
function answerOf(wire: UpstreamWire): fc.Arbitrary<{ whole?: string; stream?: string }> {
  const streams = FIXTURES[wire].filter(isStream).map(({ response }) => response.text!);
  const wholes = FIXTURES[wire].filter((one) => isOk(one) && !isStream(one)).map(({ response }) => response.json ?? "");
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: ARBITRARIES[wire][1].map((whole) => ({ whole: JSON.stringify(whole) })) },
    { weight: 1, arbitrary: hostileJson(fc.constantFrom<JsonValue>(...wholes)).map((whole) => ({ whole })) },
    { weight: 2, arbitrary: hostileStream(fc.constantFrom(...streams)).map((stream) => ({ stream })) },
  );
}

const MODELS = ["org/model", "claude-opus-5-5", "gpt-5.2", "glm-5.3", "openai/gpt-oss-120b", "repairing"] as const;

const conversation = fc.record({
  client: fc.constantFrom(...CLIENT_WIRES),
  upstream: fc.constantFrom(...UPSTREAM_WIRES),
  second: fc.constantFrom(...UPSTREAM_WIRES),
  stream: fc.boolean(),
  model: fc.constantFrom(...MODELS),
  failure: fc.option(fc.constantFrom(...FAILURES), { freq: 2 }),
  failures: fc.constantFrom(1, 1, 2, 9),
  isPair: fc.boolean(),
}).chain((setting) =>
  fc.record({ setting: fc.constant(setting), content: contentFor(setting.client), answer: answerOf(setting.upstream) })
);

const others: fc.Arbitrary<Asked> = fc.oneof(
  fc.constantFrom(...Object.entries(OTHER_BODIES)).chain(([path, bodies]) =>
    hostileJson(fc.constantFrom(...bodies)).map((body) => post(path, body))
  ),
  fc.tuple(fc.constantFrom(...FORM_PATHS), hostileForms).map(([path, text]) => asForm(path, text)),
  hostilePaths,
);

/** `count` random cases. */
export function addFuzzed(list: CaseList, count: number, seed: number): void {
  const inputs = fc.sample(
    fc.oneof({ weight: 4, arbitrary: conversation }, { weight: 1, arbitrary: others }),
    { seed, numRuns: count },
  );
  for (const [number, input] of inputs.entries()) {
    if ("setting" in input) addConversation(list, number, input);
    else addOther(list, number, input);
  }
}

function addOther(list: CaseList, number: number, asked: Asked): void {
  const { slot, seed } = list.next;
  const lane = `${slot}-${new Random(seed).pick([...UPSTREAM_WIRES, "hub"])}`;
  // Paths of no lane belong to the first one, where cases of another slot run.
  const path = asked.path.replace(/^\/((oss|any)\/|(?=v1))/, `/${lane}/`);
  list.add(`fuzz ${number}: ${asked.method} ${path.slice(0, 60)}`, [{ ...asked, path }]);
}

function addConversation(
  list: CaseList,
  number: number,
  { setting, content, answer }: typeof conversation extends fc.Arbitrary<infer T> ? T : never,
): void {
  const { slot, seed } = list.next;
  const { client, upstream, second, stream, failure, failures, isPair } = setting;
  const name = `pair-${number}`;
  const isSilent = failure?.startsWith("silent") ?? false;
  if (isPair) list.pairs.push({ name, slot, wires: [upstream, second], isHasty: isSilent });
  const lane = `${slot}-${isPair ? "pairs" : upstream}`;
  const model = isPair ? name : isSilent ? "hasty" : setting.model;
  const newScript = (): Script => {
    const random = new Random(seed);
    return (call, at) => {
      const good = goodAnswer(call, random);
      const isStreamed = call.body.includes('"stream":true');
      const given = at > 0
        ? undefined
        : isStreamed
        ? answer.stream !== undefined && streamPlay(answer.stream)
        : answer.whole !== undefined && jsonPlay(answer.whole);
      const path = call.head.split(" ")[1]!;
      return failure && at < failures ? failing(failure, given || good, path, random) : given || good;
    };
  };
  const how = `${client} to ${isPair ? `${upstream} or ${second}` : upstream}${stream ? ", streamed" : ""}`;
  list.add(
    `fuzz ${number}: ${how}${failure ? `, ${failure}` : ""}`,
    stepsOf(askedOf(content, client, lane, model, stream)),
    newScript,
  );
}

function askedOf(content: Content, client: ClientWire, lane: string, model: string, stream: boolean): Asked {
  if (content.type === "script") return askFor(client, lane, model, content.script, stream);
  const body = content.type === "body"
    ? { ...content.body, model, stream }
    : content.text.replace(/"model":"(chat|messages|responses|sandbox)"/, () => `"model":${JSON.stringify(model)}`);
  return post(
    pathOf(client, lane, model, stream),
    body,
    client === "messages" ? { "anthropic-version": "2023-06-01" } : {},
  );
}
