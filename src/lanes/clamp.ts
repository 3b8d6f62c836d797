import type { Effort, FilePart, GenerateRequest, Message, TextPart, ToolResultPart } from "../canonical/generate.ts";
import { MODALITIES, type Modality } from "../canonical/models.ts";
import { holdsPart } from "../canonical/part_types.ts";
import { clampThinking } from "../transforms/thinking.ts";
import { GatewayError } from "../errors.ts";
import type { ModelLimits } from "../config/lane_schema.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { Resolution } from "./resolution.ts";

type Note = (text: string) => void;

/** Restricts the request's effort to the levels that the model supports. Unchanged if they are not known. */
export function clampEffort(
  request: GenerateRequest,
  levels: readonly Effort[] | undefined,
  note: Note,
): GenerateRequest {
  if (!levels || !request.thinking) return request;
  const thinking = clampThinking(request.thinking, levels, note);
  return thinking === request.thinking ? request : { ...request, thinking };
}

/** The estimate is trusted only if it leaves at least this fraction of the window: an eighth. */
const LEAST_ROOM = 8;

/**
 * How many tokens an answer may have if the client set no limit: the model's own limit, and what the context window leaves. The
 * estimate is high, so it is not trusted near the window's end. An upstream that counts exactly will refuse, and state the
 * excess.
 */
export function answerRoom(request: GenerateRequest, limits: ModelLimits, inputTokens: number): number | undefined {
  const { maxOutputTokens = Infinity, contextLength = Infinity } = limits;
  if (request.maxOutputTokens !== undefined || Math.min(maxOutputTokens, contextLength) === Infinity) return undefined;
  if (contextLength === Infinity) return maxOutputTokens;
  const room = contextLength - inputTokens;
  return Math.min(maxOutputTokens, Math.max(room, Math.ceil(contextLength / LEAST_ROOM)));
}

/** Limits the answer to the room that the conversation leaves, and adds the possible length of the answer to the targets. */
export function fitAnswer(
  request: GenerateRequest,
  estimate: number,
  { targets, maxOutputTokens, contextLength }: Resolution,
  note: Note,
): { request: GenerateRequest; targets: readonly PlannedTarget[] } {
  if (maxOutputTokens === undefined && contextLength === undefined) return { request, targets };
  const limits = { maxOutputTokens, contextLength };
  const room = answerRoom(request, limits, estimate);
  return {
    request: clampOutput(request, { ...limits, estimate: () => estimate }, note),
    targets: room === undefined ? targets : targets.map((target) => ({ ...target, answerRoom: room })),
  };
}

/** Limits the answer to the model's maximum and to what the input leaves of the context window. */
export function clampOutput(
  request: GenerateRequest,
  { maxOutputTokens: most = Infinity, contextLength, estimate }: ModelLimits & {
    estimate(request: GenerateRequest): number;
  },
  note: Note,
): GenerateRequest {
  const wanted = request.maxOutputTokens;
  if (wanted === undefined || (most === Infinity && contextLength === undefined)) return request;
  const window = contextLength ?? Infinity;
  const room = window - estimate(request);
  // Near the window's end, the high estimate would leave room for only a few words. There the upstream decides, and reports an
  // excess in terms that agents understand.
  const allowed = Math.min(wanted, most, room >= window / LEAST_ROOM ? room : window);
  if (allowed >= wanted) return request;
  note(`clamped max_tokens ${wanted}>${allowed}`);
  return { ...request, maxOutputTokens: allowed };
}

/**
 * Replaces files that the model does not accept. If its modalities are unknown, the upstream decides. Throws `invalid_request`
 * for such a file in the user's newest turn, because the answer would be about it. Agents send all turns again with every
 * request, so a file in an older turn or from a tool must not fail them. It is replaced with a line of text.
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
 * The index of the turn in which the user asks, or -1 if an agent continues by itself. Agents may add instructions after it. A
 * user turn directly after tool results belongs to them: on wires whose results hold only text, that is how files are sent.
 */
export function newestTurn(messages: readonly Message[]): number {
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

/** The kind of a media type such as `image/png`. Anything but images, audio and video is a document. */
function kindOf({ mediaType }: FilePart): Modality {
  const kind = mediaType.split("/")[0];
  return MODALITIES.find((modality) => modality === kind && modality !== "text") ?? "file";
}
