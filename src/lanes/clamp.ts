import type { Effort, FilePart, GenerateRequest, Message, TextPart, ToolResultPart } from "../canonical/generate.ts";
import { MODALITIES, type Modality } from "../canonical/models.ts";
import { holdsPart } from "../canonical/part_types.ts";
import { clampThinking } from "../transforms/thinking.ts";
import { GatewayError } from "../errors.ts";
import type { ModelLimits } from "../config/lane_schema.ts";
import type { Destination } from "../contract/destination.ts";
import type { Resolution } from "./resolution.ts";

type Note = (text: string) => void;

/** The request, its effort held to the levels that the model knows; as it is where they are not known. */
export function clampEffort(
  request: GenerateRequest,
  levels: readonly Effort[] | undefined,
  note: Note,
): GenerateRequest {
  const thinking = clampThinking(request.thinking, levels, note);
  return thinking === request.thinking ? request : { ...request, thinking };
}

/** The part of the window that must be left, by the estimate, for the estimate to be trusted: an eighth. */
const LEAST_ROOM = 8;

/**
 * What an answer may have where the client set no limit: the model's own, and what its window leaves. The estimate counts
 * high, so near the window's end it is not believed; an upstream that knows better refuses, and says by how much.
 */
export function answerRoom(request: GenerateRequest, limits: ModelLimits, inputTokens: number): number | undefined {
  const { maxOutputTokens = Infinity, contextLength = Infinity } = limits;
  if (request.maxOutputTokens !== undefined || Math.min(maxOutputTokens, contextLength) === Infinity) return undefined;
  if (contextLength === Infinity) return maxOutputTokens;
  const room = contextLength - inputTokens;
  return Math.min(maxOutputTokens, Math.max(room, Math.ceil(contextLength / LEAST_ROOM)));
}

/** The request as the tokens of its conversation leave room for its answer, and the targets with what an answer may have there. */
export function fitAnswer(
  request: GenerateRequest,
  estimate: number,
  { targets, ...limits }: Resolution,
  note: Note,
): { request: GenerateRequest; targets: Destination[] } {
  const room = answerRoom(request, limits, estimate);
  return {
    request: clampOutput(request, { ...limits, estimate: () => estimate }, note),
    targets: targets.map((target) => ({ ...target, answerRoom: room })),
  };
}

/** The request, its answer no longer than the model's longest, and than what the input leaves of the window. */
export function clampOutput(
  request: GenerateRequest,
  { maxOutputTokens: most = Infinity, contextLength, estimate }: ModelLimits & {
    estimate(request: GenerateRequest): number;
  },
  note: Note,
): GenerateRequest {
  const wanted = request.maxOutputTokens;
  if (wanted === undefined) return request;
  const window = contextLength ?? Infinity;
  const room = window - estimate(request);
  // Near the window's end the estimate, which counts high, would leave an answer of a few words: there the upstream decides,
  // and says what does not fit in words that agents act on.
  const allowed = Math.min(wanted, most, room >= window / LEAST_ROOM ? room : window);
  if (allowed >= wanted) return request;
  note(`clamped max_tokens ${wanted}>${allowed}`);
  return { ...request, maxOutputTokens: allowed };
}

/**
 * The request, its files of kinds that the model takes. What nobody knows of the model is left to the upstream. Throws
 * `invalid_request` for a file in the user's newest turn that the model cannot take, because the answer would be about it.
 * An agent sends all turns again with every request, so a file in an older turn, or one that a tool brought, must not fail
 * them: a line of text stands in for it.
 */
export function clampFiles(
  request: GenerateRequest,
  taken: readonly Modality[] | undefined,
  note: Note,
): GenerateRequest {
  const { model, messages } = request;
  if (!taken || !holdsPart(messages, "file")) return request;
  const newest = newestTurn(messages);

  const clampParts = <P extends { type: string }>(parts: readonly P[], path?: string): (P | TextPart)[] =>
    parts.map((part, index) => {
      if (!isFile(part)) return part;
      const kind = kindOf(part);
      if (taken.includes(kind)) return part;
      const refusal = `the model "${model}" takes no ${IN_WORDS[kind]}`;
      if (path !== undefined) {
        const param = `${path}.content[${index}]`;
        throw new GatewayError("invalid_request", `Cannot send "${param}": ${refusal}`, { param });
      }
      note(`replaced ${IN_WORDS[kind]} with text`);
      return { type: "text", text: `[${kind} omitted: ${refusal}]` };
    });
  const clampResult = (result: ToolResultPart) => ({ ...result, content: clampParts(result.content) });

  const clampMessage = (message: Message, index: number): Message => {
    switch (message.role) {
      case "system":
        return { ...message, content: clampParts(message.content) };
      case "user":
        return {
          ...message,
          content: clampParts(message.content, index === newest ? `messages[${index}]` : undefined),
        };
      case "assistant":
        return { ...message, content: clampParts(message.content) };
      case "tool":
        return { ...message, content: message.content.map(clampResult) };
      default:
        return message satisfies never;
    }
  };
  return { ...request, messages: messages.map(clampMessage) };
}

/**
 * The position of the turn in which the user asks; -1 where an agent goes on by itself. Agents put instructions after it.
 * A turn of the user right after results of tools belongs to them: wires whose results hold text only send files so.
 */
function newestTurn(messages: readonly Message[]): number {
  const last = messages.findLastIndex(({ role }) => role !== "system");
  return messages[last]?.role === "user" && messages[last - 1]?.role !== "tool" ? last : -1;
}

const IN_WORDS: Record<Modality, string> = {
  text: "text",
  image: "images",
  audio: "audio",
  video: "video",
  file: "files",
};

function isFile(part: { type: string }): part is FilePart {
  return part.type === "file";
}

/** A media type is `image/png`; what is no picture, sound or film is a document. */
function kindOf({ mediaType }: FilePart): Modality {
  const kind = mediaType.split("/")[0];
  return MODALITIES.find((modality) => modality === kind && modality !== "text") ?? "file";
}
