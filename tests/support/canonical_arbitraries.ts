import fc from "fast-check";
import type {
  FilePart,
  GenerateRequest,
  GenerateResponse,
  InputPart,
  Message,
  OutputPart,
  Tool,
  ToolCallPart,
  ToolChoice,
} from "../../src/canonical/generate.ts";
import { SAMPLING_PARAMETERS, type SamplingParameter } from "../../src/canonical/sampling.ts";
import { base64, character, name, overTheWire, schema, tokens, url } from "./arbitraries.ts";

/** Conversations and answers in the canonical form, as no one wire brings them about: all kinds of parts, in any order. */

/** The wire that they come from: none of those that there are. */
export const NO_WIRE = "none";

const constant = <const T>(value: T) => fc.constant(value);

/** Any text that says something; also with halves of characters, as a cut leaves them behind. */
const said = fc.oneof(
  fc.string({ unit: character, minLength: 1 }),
  fc.string({
    unit: fc.constantFrom("\ud83d", "\ude00", "😀", "é", "a", "\n", "\0", "\u2028", '"', "\\"),
    minLength: 1,
  }),
  fc.lorem({ maxCount: 6 }),
).filter((text) => text.trim() !== "");
const text = fc.oneof({ weight: 6, arbitrary: said }, constant(""));
const id = fc.oneof(
  fc.stringMatching(/^call_[a-z0-9]{1,9}$/),
  fc.stringMatching(/^functions\.[a-z]{1,6}:\d$/),
  fc.string({ unit: character, minLength: 1, maxLength: 90 }),
);

const textPart = fc.record({ type: constant("text"), text });
const sourceOf = (data: fc.Arbitrary<string>) =>
  fc.oneof(
    data.map((data) => ({ type: "base64" as const, data })),
    url.map((url) => ({ type: "url" as const, url })),
    name.map((id) => ({ type: "id" as const, id })),
  );
const picture: fc.Arbitrary<FilePart> = sourceOf(base64).chain((source) =>
  fc.record<FilePart>({
    type: constant("file"),
    mediaType: source.type === "base64" ? fc.constantFrom("image/png", "image/webp") : constant("image/*"),
    source: constant(source),
    name: name.map((one) => `${one}.png`),
    detail: fc.constantFrom("low", "high"),
  }, { requiredKeys: ["type", "mediaType", "source"] })
);
const document: fc.Arbitrary<FilePart> = fc.record<FilePart>({
  type: constant("file"),
  mediaType: constant("application/pdf"),
  source: sourceOf(base64),
  name: name.map((one) => `${one}.pdf`),
}, { requiredKeys: ["type", "mediaType", "source"] });
const sound: fc.Arbitrary<FilePart> = fc.record({
  type: constant("file"),
  mediaType: fc.constantFrom("audio/wav", "audio/mpeg", "audio/ogg"),
  source: base64.map((data) => ({ type: "base64" as const, data })),
});
const file = fc.oneof(picture, document, sound);
/** A part that only a wire knows which does not exist. */
const opaque = fc.record({
  type: constant("opaque"),
  standIn: said,
  extra: constant({ wire: NO_WIRE, fields: { type: "from_nowhere" } }),
}, { requiredKeys: ["type", "extra"] });

const inputPart: fc.Arbitrary<InputPart> = fc.oneof({ weight: 4, arbitrary: textPart }, file, opaque);
const input = fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map((one) => JSON.stringify(one));
const call: fc.Arbitrary<ToolCallPart> = fc.oneof(
  fc.record({ type: constant("tool-call"), kind: constant("function"), id, name, input }),
  fc.record({ type: constant("tool-call"), kind: constant("custom"), id, name, input: said }),
);
const spokenPart: fc.Arbitrary<OutputPart> = fc.oneof(
  { weight: 4, arbitrary: textPart },
  fc.record({ type: constant("reasoning"), text: said }),
  fc.record({ type: constant("refusal"), text: said }),
  opaque,
);

const result = fc.oneof(
  fc.record({ content: fc.array(inputPart, { maxLength: 3 }) }),
  fc.record({ content: fc.tuple(fc.record({ type: constant("text"), text: said })), isError: constant(true) }),
);
/** A turn of the assistant: its parts, its calls and their results. */
const turn = fc.tuple(
  fc.array(spokenPart, { maxLength: 3 }),
  fc.array(fc.tuple(call, result), { maxLength: 3 }),
).filter(([parts, calls]) => parts.length + calls.length > 0).map(([parts, calls]): Message[] => [
  { role: "assistant", content: [...parts, ...calls.map(([call]) => call)] },
  ...calls.map(([{ id }, result]): Message => ({ role: "tool", content: [{ type: "tool-result", id, ...result }] })),
]);
const content = fc.array(inputPart, { minLength: 1, maxLength: 3 });
const others = fc.oneof(
  content.map((content): Message[] => [{ role: "user", content }]),
  fc.array(textPart, { minLength: 1, maxLength: 2 }).map((content): Message[] => [{ role: "system", content }]),
);
const messages = fc.tuple(fc.array(fc.oneof(turn, others), { maxLength: 6 }), said)
  .map(([turns, text]): Message[] => [...turns.flat(), { role: "user", content: [{ type: "text", text }] }])
  .map(withOwnIds);

/** Each call of a conversation has an id of its own. */
function withOwnIds(messages: Message[]): Message[] {
  const taken = new Set<string>();
  const own = new Map<string, string>();
  return messages.map((message): Message => {
    if (message.role === "tool") {
      return { ...message, content: message.content.map((one) => ({ ...one, id: own.get(one.id) ?? one.id })) };
    }
    if (message.role !== "assistant") return message;
    own.clear();
    const content = message.content.filter((part) =>
      part.type !== "tool-call" || !own.has(part.id) && own.set(part.id, "")
    );
    return {
      ...message,
      content: content.map((part) => {
        if (part.type !== "tool-call") return part;
        const id = taken.has(part.id) ? `${part.id}_${taken.size}` : part.id;
        taken.add(id);
        own.set(part.id, id);
        return { ...part, id };
      }),
    };
  });
}

const toolNamed = (name: string): fc.Arbitrary<Tool> =>
  fc.oneof(
    fc.record({
      type: constant("function"),
      name: constant(name),
      description: said,
      parameters: schema,
      strict: fc.boolean(),
    }, { requiredKeys: ["type", "name"] }),
    fc.record({
      type: constant("custom"),
      name: constant(name),
      description: said,
      grammar: constant({ syntax: "lark", definition: "start: /a+/" }),
    }, { requiredKeys: ["type", "name"] }),
  );
/** Tools, and a choice among them. */
const toolUse = fc.uniqueArray(name, { maxLength: 3 })
  .chain((names) => fc.tuple(...names.map(toolNamed)))
  .chain((tools) => {
    if (tools.length === 0) return fc.constant({});
    const one = fc.constantFrom(...tools);
    const choice: fc.Arbitrary<ToolChoice> = fc.oneof(
      fc.constantFrom("auto" as const, "none" as const, "required" as const).map((type) => ({ type })),
      one.map(({ type, name }) => ({ type: "tool" as const, kind: type as "function" | "custom", name })),
      fc.record({
        type: constant("allowed"),
        mode: fc.constantFrom("auto", "required"),
        names: fc.subarray(tools.map(({ name }) => name), { minLength: 1 }),
      }),
    );
    return fc.record({ tools: constant(tools), toolChoice: choice, parallelToolCalls: fc.boolean() }, {
      requiredKeys: ["tools"],
    });
  });

/** Every sampling parameter, also one without a range of its own below. */
const sampling = Object.fromEntries(
  Object.keys(SAMPLING_PARAMETERS).map((name) => [name, fc.double({ min: 0, max: 1, noNaN: true })]),
) as Record<SamplingParameter, fc.Arbitrary<number>>;

const parameters = fc.record({
  ...sampling,
  maxOutputTokens: fc.integer({ min: 1, max: 1_000_000 }),
  thinking: fc.constantFrom("low", "medium", "high").map((effort) => ({ effort })),
  temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  topP: fc.double({ min: 0, max: 1, noNaN: true }),
  presencePenalty: fc.double({ min: -2, max: 2, noNaN: true }),
  frequencyPenalty: fc.double({ min: -2, max: 2, noNaN: true }),
  topK: fc.nat({ max: 200 }),
  stopSequences: fc.array(said, { minLength: 1, maxLength: 3 }),
  seed: fc.integer(),
  outputSchema: fc.record({ name, description: said, schema, strict: fc.boolean() }, {
    requiredKeys: ["name", "schema"],
  }),
  verbosity: fc.constantFrom("low", "medium", "high"),
  cacheKey: said,
  metadata: fc.dictionary(name, said, { minKeys: 1, maxKeys: 2 }),
}, { requiredKeys: [] });

export const canonicalRequest: fc.Arbitrary<GenerateRequest> = fc.tuple(messages, fc.boolean(), toolUse, parameters)
  .map(([messages, stream, tools, parameters]) => ({
    ...overTheWire({ model: "m", stream, ...tools, ...parameters }),
    messages,
  }));

// Answers

const answerPart: fc.Arbitrary<OutputPart> = fc.oneof(
  fc.record({ type: constant("text"), text: said }),
  fc.record({ type: constant("text"), text: said }),
  fc.record({ type: constant("reasoning"), text: said }),
  fc.record({ type: constant("refusal"), text: said }),
  picture,
  opaque,
);

export const canonicalResponse: fc.Arbitrary<GenerateResponse> = fc.record({
  model: constant("m"),
  content: fc.tuple(
    fc.array(answerPart, { maxLength: 4 }),
    fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
  ).map(([parts, calls]) => [...parts, ...calls]),
  reason: fc.constantFrom("stop", "length", "content-filter"),
  usage: fc.record({ inputTokens: fc.integer({ min: 1, max: 1000 }), outputTokens: tokens }),
}).map(({ reason, ...answer }) => {
  const isCalling = reason === "stop" && answer.content.some(({ type }) => type === "tool-call");
  return { ...answer, finish: { reason: isCalling ? "tool-calls" : reason } };
});
