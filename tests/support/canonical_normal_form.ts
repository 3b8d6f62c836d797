/**
 * The facts of a canonical conversation that a wire can express, as a list. It is the same before the conversation is
 * written and after it is read back, unless something was lost that the wire can express.
 */
import { asFunctionTool } from "../../src/transforms/custom_tool.ts";
import type {
  FilePart,
  GenerateRequest,
  GenerateResponse,
  Message,
  OutputPart,
  Tool,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { type JsonObject, parseJson } from "../../src/canonical/json.ts";
import {
  CHAT_SAMPLING,
  MESSAGES_SAMPLING,
  RESPONSES_SAMPLING,
  type SamplingTable,
} from "../../plugins/shared/sampling.ts";
import { replaceHalves } from "../../src/canonical/half_surrogates.ts";
import { objectSchema } from "../../src/transforms/tool_schema.ts";

type Part = Message["content"][number];

/** Sampling parameters whose loss the rules state themselves. */
const STATED = new Set(["temperature", "topP", "presencePenalty", "frequencyPenalty", "topK"]);

/** Any other is lost where the wire's table lacks it. */
function alsoLacks({ lacks = {} }: SamplingTable): Rules["without"] {
  return Object.fromEntries(Object.entries(lacks).filter(([name]) => !STATED.has(name)));
}

/** The losses of a wire, and the replacements for lost parts. `lost` receives the notes that must report a loss. */
export interface Rules {
  /** Knobs, as a note names them. */
  without: Partial<Record<keyof GenerateRequest, string>>;
  file(part: FilePart, lost: (note: RegExp) => void): FilePart | string | undefined;
  /** Whether results of tools hold files. */
  filesInResults: boolean;
  /** Whether a failed result has a mark. */
  marksErrors: boolean;
  /** Whether one turn tells thoughts, words and calls in any order; where not, they are told in this one. */
  ordered: boolean;
  /** Whether a choice of some tools goes as such, and not as a shorter list. */
  allows: boolean;
  /** The limit that the wire states if none is requested. */
  limit?: number;
  /** Whether the answer's form has a name and a description, and may be left unenforced. */
  labels: boolean;
}

export const RULES: Record<string, Rules> = {
  chat: {
    without: alsoLacks(CHAT_SAMPLING),
    file(part, lost) {
      const { mediaType, source, name } = part;
      const isPicture = mediaType.startsWith("image/") && source.type !== "id";
      if (isPicture || mediaType.startsWith("audio/")) {
        if (name !== undefined) lost(/dropped filename/);
        return { ...part, name: undefined };
      }
      if (part.detail !== undefined) lost(/dropped detail/);
      if (source.type === "url") {
        lost(/replaced a file with its URL/);
        return `[${name ?? "File"}: ${source.url}]`;
      }
      return { ...part, detail: undefined, ...(source.type === "id" && { mediaType: "application/octet-stream" }) };
    },
    filesInResults: false,
    marksErrors: false,
    ordered: false,
    allows: false,
    labels: true,
  },
  messages: {
    without: {
      ...alsoLacks(MESSAGES_SAMPLING),
      presencePenalty: "presence_penalty",
      frequencyPenalty: "frequency_penalty",
      seed: "seed",
      verbosity: "verbosity",
      cacheKey: "prompt_cache_key",
      metadata: "metadata",
    },
    file(part, lost) {
      if (part.mediaType.startsWith("audio/")) return void lost(/dropped a file of type audio/);
      if (part.detail !== undefined) lost(/dropped detail/);
      const isPicture = part.mediaType.startsWith("image/");
      if (isPicture && part.name !== undefined) lost(/dropped filename/);
      return { ...part, detail: undefined, ...(isPicture && { name: undefined }) };
    },
    filesInResults: true,
    marksErrors: true,
    ordered: true,
    allows: false,
    limit: 32_000,
    labels: false,
  },
  responses: {
    without: { ...alsoLacks(RESPONSES_SAMPLING), topK: "top_k", stopSequences: "stop", seed: "seed" },
    file(part, lost) {
      if (part.mediaType.startsWith("audio/")) return void lost(/dropped a file of type audio/);
      if (part.mediaType.startsWith("image/")) {
        if (part.name !== undefined) lost(/dropped filename/);
        return { ...part, name: undefined };
      }
      return part.source.type === "base64" ? part : { ...part, mediaType: "application/octet-stream" };
    },
    filesInResults: true,
    marksErrors: false,
    ordered: true,
    allows: true,
    labels: true,
  },
};

type Fact = { who: string; text: string } | { who: string; what: unknown };

/** Facts of what was asked, and the notes that must come with the losses among them. */
export function requestFacts(request: GenerateRequest, rules: Rules): { facts: unknown; losses: RegExp[] } {
  const losses: RegExp[] = [];
  const lost = (note: RegExp) => void losses.push(note);
  const { model: _model, messages, tools = [], toolChoice, recall: _memory, extra: _extra, ...parameters } = request;
  for (const [knob, name] of Object.entries(rules.without)) {
    if (parameters[knob as keyof typeof parameters] === undefined) continue;
    lost(new RegExp(`dropped ${name}`));
    delete parameters[knob as keyof typeof parameters];
  }
  if (parameters.outputSchema && !rules.labels) {
    const { schema, description } = parameters.outputSchema;
    parameters.outputSchema = { schema: { ...schema, ...(description !== undefined && { description }) } };
  }
  const offered = toolChoice?.type === "allowed" && !rules.allows
    ? tools.filter(({ name }) => toolChoice.names.includes(name))
    : tools;
  const choice = toolChoice?.type === "allowed" && !rules.allows ? { type: toolChoice.mode } : toolChoice;
  // The default, and what says nothing where no tool may be called.
  if (parameters.parallelToolCalls || choice?.type === "none") delete parameters.parallelToolCalls;
  return {
    facts: {
      ...(rules.limit && { maxOutputTokens: rules.limit }),
      ...parameters,
      tools: offered.map(toolFact),
      choice: choice && choice.type !== "auto" ? { ...choice, kind: undefined } : undefined,
      conversation: tellings(messages, rules, lost),
    },
    losses,
  };
}

/**
 * Like the facts of a conversation, for an answer. No wire has files in answers, and no text replaces parts that only
 * another wire knows.
 */
export function answerFacts(
  { content, finish, usage }: GenerateResponse,
  rules: Rules,
): { facts: unknown; losses: RegExp[] } {
  const losses: RegExp[] = [];
  const lost = (note: RegExp) => void losses.push(note);
  const file = ({ mediaType }: FilePart) => void lost(new RegExp(`dropped a file of type ${mediaType}`));
  const spoken = content.map((part): OutputPart =>
    part.type === "opaque" ? { type: "opaque", extra: part.extra } : part
  );
  const parts = rules.ordered ? spoken : inOneText(spoken);
  const facts = tellings([{ role: "assistant", content: parts }], { ...rules, file }, lost);
  const { inputTokens, outputTokens } = usage;
  return { facts: { conversation: facts, reason: finish.reason, inputTokens, outputTokens }, losses };
}

/** An answer that is one text. */
function inOneText(content: readonly OutputPart[]): OutputPart[] {
  const text = content.map((part) => part.type === "text" ? part.text : "").join("");
  return [{ type: "text", text }, ...content.filter(({ type }) => type !== "text")];
}

function toolFact(tool: Tool): unknown {
  const { name, description, parameters, strict } = tool.type === "custom"
    ? asFunctionTool(tool)
    : { ...tool, parameters: undefined, description: undefined, strict: undefined, ...tool };
  return { name, description, parameters: objectSchema(parameters as JsonObject | undefined), strict: strict ?? false };
}

/** Ids are not told as they are everywhere. */
const FROM_RESULT = "From the result of it:";

/**
 * The facts of the messages, in order, each with its role. Adjacent texts of one role are joined, and empty texts are
 * left out.
 */
function tellings(messages: readonly Message[], rules: Rules, lost: (note: RegExp) => void): Fact[] {
  const facts: Fact[] = [];
  const ids = new Map<string, number>();
  const nameOf = (id: string) => ids.get(id) ?? ids.set(id, ids.size).get(id)!;
  const later: Fact[] = [];
  const tell = (fact: Fact) => {
    const last = facts.at(-1);
    if ("text" in fact && fact.text === "") return;
    if (last && "text" in last && "text" in fact && last.who === fact.who) last.text += `\n\n${fact.text}`;
    else facts.push({ ...fact });
  };
  const settle = () => {
    for (const fact of later.splice(0)) tell(fact);
  };
  const partFact = (who: string, part: Part): Fact | undefined => {
    switch (part.type) {
      case "text":
      case "refusal":
        return { who, text: part.text.replace(/^From the result of [^]*:$/, FROM_RESULT) };
      case "reasoning":
        return { who: "thought", text: part.text };
      case "file": {
        const file = rules.file(part, lost);
        return typeof file === "string" ? { who, text: file } : file && { who, what: { ...file, extra: undefined } };
      }
      case "opaque":
        lost(
          part.standIn === undefined ? /dropped a part of type from_nowhere/ : /replaced a part of type from_nowhere/,
        );
        return part.standIn === undefined ? undefined : { who, text: part.standIn };
      case "tool-call": {
        const input = part.kind === "custom"
          ? { input: part.input.toWellFormed() }
          : parseJson(replaceHalves(part.input));
        return { who: "calls", what: [nameOf(part.id), part.name, input] };
      }
      case "tool-result":
        return undefined;
    }
  };
  let began = false;
  const isWordless = (part: Part) => part.type === "opaque" && part.standIn === undefined;
  // A turn of nothing but what only its wire knows is none.
  const wordless = messages.filter(({ content }) => content.length > 0 && content.every(isWordless));
  for (const { content } of wordless) for (const part of content) partFact("nobody", part);
  for (const { role, content } of joined(messages.filter((message) => !wordless.includes(message)))) {
    if (role === "tool") {
      for (const result of content) {
        const files = result.content.filter(({ type }) => type === "file");
        const inside = rules.filesInResults ? result.content : result.content.filter(({ type }) => type !== "file");
        const parts = inside.map((part) => partFact("result", part)).filter((one) => one !== undefined);
        const shown = result.content.filter((part) => !isWordless(part));
        if (!rules.filesInResults && files.length > 0 && files.length === shown.length) {
          parts.push({ who: "result", text: "See the files below" });
        }
        tell({ who: "result", what: [nameOf(result.id), resultOf(result, parts, rules)] });
        if (!rules.filesInResults && files.length > 0) {
          later.push({ who: "user", text: FROM_RESULT });
          later.push(...files.map((part) => partFact("user", part)).filter((one) => one !== undefined));
        }
      }
      began = true;
      continue;
    }
    settle();
    const isLate = role === "system" && began;
    if (role === "system") {
      const text = content.map((part) => part.type === "text" ? part.text : "").filter((one) => one !== "").join(
        "\n\n",
      );
      tell({
        who: isLate ? "user" : "system",
        text: isLate && text !== "" ? `<system-reminder>\n${text}\n</system-reminder>` : text,
      });
      continue;
    }
    const parts: readonly Part[] = content;
    const spoken = (rules.ordered ? parts : inOneOrder(parts)).map((part) => partFact(role, part))
      .filter((one) => one !== undefined);
    began = true;
    for (const fact of spoken) tell(fact);
  }
  settle();
  return facts;
}

/** Joins adjacent messages of the assistant into one turn. */
function joined(messages: readonly Message[]): Message[] {
  const turns: Message[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.role !== "assistant" || message.role !== "assistant") turns.push(message);
    else turns[turns.length - 1] = { ...last, content: [...last.content, ...message.content] };
  }
  return turns;
}

/** Thoughts, what is said, refusals, calls; of thoughts and refusals there is one each. */
function inOneOrder(parts: readonly Part[]): Part[] {
  const rest = parts.filter(({ type }) => type !== "reasoning" && type !== "refusal" && type !== "tool-call");
  const together = (type: "reasoning" | "refusal"): Part[] => {
    const texts = parts.flatMap((part) => part.type === type ? [part.text] : []);
    return texts.length > 0 ? [{ type, text: texts.join("") }] : [];
  };
  return [
    ...together("reasoning"),
    ...rest,
    ...together("refusal"),
    ...parts.filter(({ type }) => type === "tool-call"),
  ];
}

/** A failure that has no mark is told in words. */
function resultOf({ isError }: ToolResultPart, parts: readonly Fact[], rules: Rules): unknown {
  const joined: Fact[] = isError && !rules.marksErrors ? [{ who: "result", text: "Error:" }] : [];
  for (const part of parts) {
    const last = joined.at(-1);
    if ("text" in part && part.text === "") continue;
    if (last && "text" in last && "text" in part) last.text += `\n\n${part.text}`;
    else joined.push({ ...part });
  }
  const [first] = joined;
  if (first && "text" in first) first.text = first.text.replace(/^Error:\s+/, "Error: ");
  return { parts: joined, isError: isError && rules.marksErrors || undefined };
}
