/** What was written, in the form of the conventions for generative AI: only where the configuration wants it recorded. */
import type { Attributes } from "@opentelemetry/api";
import type { GenerateEvent, GenerateRequest, Message, OutputPart } from "../canonical/generate.ts";
import type { ToolResultPart } from "../canonical/generate.ts";

/** The most of one attribute, in characters: who receives spans holds many of them in memory. */
const MOST = 32_768;
/** Longer than any secret: what is cut off is hidden before that. */
const MARGIN = 4_096;

type Hide = (text: string) => string;
type Recorded = Record<string, unknown>;

/** What is asked. The latest turns count most, so that the first ones are left out where there is no room for all. */
export function inputContent({ messages, tools }: GenerateRequest, hide: Hide): Attributes {
  const room = new Room(hide);
  const recorded: Recorded[] = [];
  for (const { role, content } of messages.toReversed()) {
    if (room.isFull) break;
    recorded.unshift({ role, parts: content.map((part) => partOf(part, room)) });
  }
  const [first] = recorded;
  const instructions = first?.role === "system" ? recorded.shift() : undefined;
  const definitions = new Room(hide);
  const offered = tools?.flatMap((tool) =>
    "name" in tool && !definitions.isFull ? [{ type: tool.type, name: definitions.take(tool.name) }] : []
  );
  return {
    "gen_ai.system_instructions": instructions && JSON.stringify(instructions.parts),
    "gen_ai.input.messages": JSON.stringify(recorded),
    "gen_ai.tool.definitions": offered && JSON.stringify(offered),
  };
}

/** What a model writes, while it does. */
export class OutputContent {
  readonly #room: Room;
  readonly #parts: Recorded[] = [];
  #open: { part: OutputPart; text: string } | undefined;

  constructor(hide: Hide) {
    this.#room = new Room(hide);
  }

  see(event: GenerateEvent): void {
    if (event.type === "part-start") this.#open = { part: event.part, text: "" };
    if (event.type === "part-delta" && this.#open && this.#open.text.length < MOST + MARGIN) {
      this.#open.text += event.delta.text;
    }
    if (event.type === "part-end") this.#close();
  }

  add(content: readonly OutputPart[]): void {
    for (const part of content) if (!this.#room.isFull) this.#parts.push(partOf(part, this.#room));
  }

  attributes(finish: string | undefined): Attributes {
    this.#close();
    const message = { role: "assistant", parts: this.#parts, ...(finish !== undefined && { finish_reason: finish }) };
    return { "gen_ai.output.messages": JSON.stringify([message]) };
  }

  #close(): void {
    const { part, text } = this.#open ?? {};
    this.#open = undefined;
    if (!part || text === undefined) return;
    if (part.type === "tool-call") this.add([{ ...part, input: part.input + text }]);
    else if ("text" in part) this.add([{ ...part, text: part.text + text }]);
    else this.add([part]);
  }
}

/** What is left of an attribute's length. */
class Room {
  readonly #hide: Hide;
  #left = MOST;

  constructor(hide: Hide) {
    this.#hide = hide;
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  take(text: string): string {
    const hidden = this.#hide(text.slice(0, MOST + MARGIN));
    const kept = hidden.length > this.#left ? `${hidden.slice(0, Math.max(0, this.#left))}…` : hidden;
    this.#left -= kept.length;
    return kept;
  }
}

function partOf(part: Message["content"][number], room: Room): Recorded {
  switch (part.type) {
    case "text":
    case "refusal":
      return { type: "text", content: room.take(part.text) };
    case "reasoning":
      return { type: "reasoning", content: room.take(part.text) };
    case "tool-call":
      return {
        type: "tool_call",
        id: room.take(part.id),
        name: room.take(part.name),
        arguments: room.take(part.input),
      };
    case "tool-result":
      return { type: "tool_call_response", id: room.take(part.id), result: room.take(resultText(part)) };
    case "file":
      return { type: "file", mime_type: room.take(part.mediaType) };
    case "hosted":
    case "opaque":
      return { type: part.type };
    default:
      return part satisfies never;
  }
}

function resultText({ content }: ToolResultPart): string {
  return content.map((part) => part.type === "text" ? part.text : `[${part.type}]`).join("\n");
}
