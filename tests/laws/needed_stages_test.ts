/** A stage that a request does not need would not have changed it. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { drivers } from "../../plugins/mod.ts";
import type { GenerateRequest, HostedPart, Message, Tool } from "../../src/canonical/generate.ts";
import { FACT, factsOf, withTurnsOf } from "../../src/inference/facts.ts";
import type { Inference } from "../../src/inference/inference.ts";
import { prepareForTarget, TARGET_STAGES, type TargetFacts } from "../../src/inference/target_stages.ts";
import { STAGES } from "../../src/inference/stages.ts";
import { functionsFor } from "../../src/transforms/hosted_functions.ts";
import { correction } from "../../src/transforms/schema_prompt.ts";
import { canonicalRequest, NO_WIRE } from "../support/canonical_arbitraries.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";

const WIRES = ["chat", "messages", "responses", NO_WIRE];
const MODELS = ["org/model", "claude-opus-5-5", "openai/gpt-5", "o3", "org/gpt-oss-120b"];
const TARGETS = ["upstream/org/model", "other/model"];

const steps: fc.Arbitrary<HostedPart> = fc.record({
  type: fc.constant("hosted" as const),
  id: fc.constantFrom("ws_1", "ws_2"),
  call: fc.constantFrom(
    { kind: "web-search" as const, query: "Oslo" },
    { kind: "mcp" as const, server: "far", name: "find it", input: "{}" },
  ),
  result: fc.constantFrom(
    { kind: "hits" as const, hits: [{ number: 0, url: "https://a.test", title: "A", text: "a" }] },
    { kind: "lost" as const },
    { kind: "error" as const, code: "unavailable" as const },
  ),
}, { requiredKeys: ["type", "id", "call"] });

/** Parts and turns that no client of a single wire sends in this way. */
const added: fc.Arbitrary<Message[]> = fc.array(
  fc.oneof(
    fc.array(
      fc.oneof(
        steps,
        fc.record({
          type: fc.constant("reasoning" as const),
          text: fc.constantFrom("", "So"),
          opaque: fc.record({
            origin: fc.constantFrom(...WIRES),
            data: fc.constant("abc"),
            target: fc.constantFrom(...TARGETS),
          }, { requiredKeys: ["origin", "data"] }),
        }, { requiredKeys: ["type", "text"] }),
        fc.record({
          type: fc.constant("opaque" as const),
          standIn: fc.constant("a thing"),
          extra: fc.constantFrom(...WIRES).map((wire) => ({ wire, fields: { type: "thing" } })),
        }, { requiredKeys: ["type", "extra"] }),
      ),
      { maxLength: 3 },
    ).map((content): Message => ({ role: "assistant", content })),
    fc.constantFrom<Message>(
      { role: "system", content: [] },
      { role: "user", content: [] },
      { role: "system", content: [{ type: "text", text: "Be brief" }] },
      { role: "tool", content: [] },
      { role: "tool", content: [{ type: "tool-result", id: "stray", content: [] }] },
    ),
  ),
  { maxLength: 4 },
);

const hostedTools: fc.Arbitrary<Tool[]> = fc.subarray<Tool>([
  {
    type: "hosted",
    name: "web_search",
    work: { kind: "web-search", opensPages: true },
    extra: { wire: "messages", fields: { type: "web_search_20250305" } },
  },
  { type: "hosted", name: "code", extra: { wire: "responses", fields: { type: "code_interpreter" } } },
  { type: "function", name: "later.on", deferred: true },
]);

const parsed = fc.oneof(...LAW_INPUTS.map(({ wire, request }) =>
  request.map((body): GenerateRequest => {
    try {
      return wire.parseRequest(newWireRequest(body), newContext(wire.name));
    } catch {
      return { model: "m", messages: [], stream: false };
    }
  })
));

const requests = fc.tuple(fc.oneof(canonicalRequest, parsed), added, hostedTools, fc.boolean()).map((
  [request, more, tools, isFirst],
): GenerateRequest => ({
  ...request,
  ...(tools.length > 0 && { tools: [...request.tools ?? [], ...tools] }),
  messages: isFirst ? [...more, ...request.messages] : [...request.messages, ...more],
}));

interface Given {
  driver: string;
  model: string;
  clientWire: string;
  systemMessages: "first" | "anywhere";
  target: string;
  offers: "none" | "some" | "last";
  refusesCacheHints: boolean;
  refusesReasoning: boolean;
  corrections: "absent" | "none" | "some";
  answerLimit?: number;
  refusedTools: string[];
}

const targets: fc.Arbitrary<Given> = fc.record({
  driver: fc.constantFrom(...drivers.filter(({ intake }) => intake).map(({ name }) => name)),
  model: fc.constantFrom(...MODELS),
  clientWire: fc.constantFrom(...WIRES),
  systemMessages: fc.constantFrom("first", "anywhere"),
  target: fc.constantFrom(...TARGETS),
  offers: fc.constantFrom("none", "some", "last"),
  refusesCacheHints: fc.boolean(),
  refusesReasoning: fc.boolean(),
  corrections: fc.constantFrom("absent", "none", "some"),
  answerLimit: fc.constant(7),
  refusedTools: fc.subarray(["web_search"]),
}, {
  requiredKeys: [
    "driver",
    "model",
    "clientWire",
    "systemMessages",
    "target",
    "offers",
    "refusesCacheHints",
    "refusesReasoning",
    "corrections",
    "refusedTools",
  ],
});

function factsFor(request: GenerateRequest, given: Given): TargetFacts {
  const { driver, model, offers, corrections, ...facts } = given;
  const { systemMessages } = facts;
  return {
    ...facts,
    facts: factsOf(request),
    intake: drivers.find(({ name }) => name === driver)?.intake?.({ upstream: "upstream", model, systemMessages }),
    hosted: offers === "none" ? undefined : { functions: functionsFor(request.tools ?? []), isLast: offers === "last" },
    ...(corrections !== "absent" && { corrections: corrections === "none" ? [] : correction("Well", "it is no JSON") }),
  };
}

/** What becomes of the request and what is said of it, or how it is refused. */
function outcomeOf(run: (note: (text: string) => void) => GenerateRequest): unknown {
  const notes = new Set<string>();
  try {
    return { request: run((text) => void notes.add(text)), notes: [...notes] };
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

law("all stages of a target do what the needed ones do", fc.tuple(requests, targets), ([request, given]) => {
  const facts = factsFor(request, given);
  const needed = outcomeOf((note) => prepareForTarget(request, facts, note));
  // What two stages take away is the target's to say, and not to be seen in the request.
  const stages = TARGET_STAGES.filter(({ needs }) =>
    (needs !== FACT.refusedHints || facts.refusesCacheHints) &&
    (needs !== FACT.refusedReasoning || facts.refusesReasoning)
  );
  const all = outcomeOf((note) => stages.reduce((one, { prepare }) => prepare(one, facts, note), request));
  assertEquals(needed, all);
});

/** The stages of a request that may be passed over. Without facts about the model, its limits are not known. */
const REQUEST_STAGES = STAGES.filter(({ needs, request }) => needs !== undefined && request !== undefined);

/** An inference as it begins, in a gateway whose store has nothing. */
function inferenceOf(input: GenerateRequest): Inference {
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const continuity = { recall: (input: GenerateRequest) => Promise.resolve({ input, added: NOTHING }) };
  return {
    operation: "generate",
    input,
    facts: factsOf(input),
    protocol: { wire: "chat" },
    wire: newWireRequest({}),
    exchange: {},
    context: { note, gateway: { state: { continuity } }, caller: { owner: "" } },
    note,
    plan: { targets: [] },
    added: NOTHING,
    beside: [],
    estimate: 0,
  } as unknown as Inference;
}

const NOTHING = { messages: [] };

law("a stage that a request does not need leaves it as it is", requests, async (request) => {
  const inference = inferenceOf(request);
  for (const stage of REQUEST_STAGES) {
    // Whether there are several targets is the model's to say.
    if (stage.needs! & (inference.facts | FACT.choice)) continue;
    const { input, plan, added } = await stage.request!(inference);
    assertEquals([input === request, plan, added], [true, inference.plan, NOTHING], stage.name);
  }
});

law("turns that are added change the facts as if they had been there", fc.tuple(requests, added), ([request, more]) => {
  const messages = [...request.messages, ...more];
  assertEquals(withTurnsOf(factsOf(request), { messages }), factsOf({ ...request, messages }));
});
