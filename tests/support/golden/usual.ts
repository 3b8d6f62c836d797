import type { Fixture } from "../fixtures.ts";
import { WIRES } from "../wires.ts";
import { learnEnvelopes, showEnvelope } from "./envelope.ts";
import { piecesOf, type Usual } from "./pieces.ts";
import { translate, type Translation } from "./translate.ts";
import { type Branch, inOneLine, isBranch, layOut, parseTree, type Tree } from "./tree.ts";

/** Exchanges that have little in common but what every exchange has, by their wires. */
const SAMPLES: Record<string, readonly string[]> = {
  chat: [
    "chat-default",
    "chat-default-stream",
    "chat-thinktool",
    "chat-thinktool-stream",
    "ended-by-length",
    "streamed-and-ended-by-length",
    "every-documented-field-of-a-request",
    "function-tools-in-all-forms",
    "opencode-continues",
    "parallel-calls",
    "streamed-parallel-calls",
    "streamed-text-then-reasoning-then-a-call",
    "a-custom-tool-is-called",
    "no-model-is-refused",
    "an-effort-that-does-not-exist-is-refused",
    "too-many-requests",
    "router-does-not-know-the-model",
  ],
  messages: [
    "messages-default",
    "messages-default-stream",
    "messages-thinktool",
    "messages-thinktool-stream",
    "ended-by-max-tokens",
    "streamed-parallel-calls",
    "streamed-text-then-thinking-then-a-call",
    "every-documented-field",
    "tools-in-all-forms",
    "claude-code-second-turn",
    "claude-code-repeats-without-a-stream",
    "thinking-and-parallel-calls",
    "no-model-is-refused",
    "an-unknown-role-is-refused",
    "too-many-requests",
    "the-model-is-not-found",
  ],
  responses: [
    "responses-default",
    "responses-default-stream",
    "responses-thinktool",
    "responses-thinktool-stream",
    "incomplete-for-max-output-tokens",
    "streamed-and-incomplete-for-max-output-tokens",
    "function-tools-in-all-forms",
    "codex-ran-a-command",
    "streamed-parallel-calls",
    "streamed-text-and-a-call",
    "a-custom-tool-is-called",
    "a-namespaced-custom-tool-is-called",
    "streamed-custom-call",
    "streamed-and-failed-after-some-words",
    "no-model-is-refused",
    "an-effort-that-does-not-exist-is-refused",
    "too-many-requests",
    "the-model-is-not-found",
  ],
};

/** The objects that the gateway makes. What others hold is what clients and upstreams say, even if all samples have it. */
const OURS = [
  /^request to [^.:]+$/,
  /^error to \w+(\.headers|: error)?$/,
  /^answer to chat(: chat\.completion\.chunk)?(\.choices\[\](\.message)?)?$/,
  /^answer to ollama(\.message)?$/,
  /^answer to messages(: (message|message_delta|text|thinking|tool_use))?(\.(delta|usage))?$/,
  /^answer to responses(\.(reasoning|text|usage|usage\.\w+))?$/,
  /^answer to responses: response(\.(reasoning|text|usage|usage\.\w+))?$/,
  /^answer to responses: response\.(content_part|output_text|reasoning_text)\.\w+$/,
  /^answer to responses: (message|output_text|reasoning)$/,
];

/** Learns the usual values from the gateway's present answers. */
export async function learnUsual(fixtures: ReadonlyMap<string, Fixture[]>): Promise<Usual> {
  const translations: Translation[] = [];
  for (const from of WIRES) {
    for (const name of SAMPLES[from.name] ?? []) {
      const fixture = fixtures.get(from.name)?.find((one) => one.name === name);
      if (!fixture) throw new Error(`No such fixture: ${from.name}/${name}`);
      translations.push(...await translate(fixture, from));
    }
  }
  const counted = { ids: idsIn(translations), limit: limitIn(translations) };
  const pieces = translations.flatMap((translation) => piecesOf(translation, counted));
  return { ...counted, envelopes: learnEnvelopes(pieces, (kind) => OURS.some((pattern) => pattern.test(kind))) };
}

/** How the ids begin of the items that whole answers list. */
function idsIn(translations: Translation[]): Map<string, string> {
  const ids = new Map<string, string>();
  for (const { name, content } of translations) {
    const { output } = name.startsWith("answer") ? bodyOf(content) : {};
    const items = Array.isArray(output) ? output.filter(isBranch) : [];
    for (const { type, id } of items) ids.set(String(type), String(id).replace(/\d+$/, ""));
  }
  return ids;
}

function limitIn(translations: Translation[]): Tree | undefined {
  return translations.filter(({ unlimited }) => unlimited).map(({ content }) => bodyOf(content).max_tokens)
    .find((limit) => limit !== undefined);
}

function bodyOf(content: Translation["content"]): Branch {
  const body = typeof content === "string" ? parseTree(content) : {};
  return isBranch(body) ? body : {};
}

/** All of it, to be read. */
export function showUsual({ envelopes, ids, limit }: Usual): string {
  let text = "== words ==\n";
  for (const [type, start] of [...ids].sort()) text += `(id of ${type} 0): ${JSON.stringify(`${start}0`)}\n`;
  text += `(default): ${inOneLine(limit ?? null)}\n`;
  for (const [kind, envelope] of [...envelopes].sort(([one], [other]) => one < other ? -1 : 1)) {
    if ([...envelope.values()].every(({ value }) => value === undefined)) continue;
    text += `\n== ${kind} ==\n${layOut(showEnvelope(envelope))}\n`;
  }
  return text;
}
