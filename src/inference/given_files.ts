/** Files that requests name by ids: their contents take the place of the ids, because most upstreams know none. */
import { isText, typeByName } from "../canonical/document_types.ts";
import { bareId, type StoredFile } from "../canonical/files.ts";
import type { FilePart, GenerateRequest, Message, TextPart } from "../canonical/generate.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { tooLarge } from "../http/size.ts";
import type { Files } from "../state/files.ts";
import { builtin } from "../util/builtin.ts";
import { nameLine } from "../util/printable.ts";
import type { Inference } from "./inference.ts";

type Conversation = Pick<Inference<"generate">, "input" | "context" | "plan" | "note">;

/** The caller's files. Throws `permission` if it may have none, and `unsupported` if nobody may. */
export async function openFiles({ caller, gateway: { state } }: RequestContext): Promise<Files> {
  if (caller.files === false) throw new GatewayError("permission", "This key is not allowed to use files");
  if (!state.files) throw new GatewayError("unsupported", 'This gateway keeps no files: "files" is off');
  return await state.files();
}

/**
 * The request with contents in place of ids. An unknown id in the present turn is refused. In earlier turns, a text stands in
 * for it, because a conversation must survive the deletion of a file.
 */
export async function withGivenFiles({ input, context, plan, note }: Conversation): Promise<GenerateRequest> {
  const { messages } = input;
  const wanted = filesIn(messages);
  if (wanted.length === 0) return input;
  const passesOn = plan.targets.some(({ upstream }) => context.gateway.upstreams.get(upstream)?.fileIds);
  const found = await find(wanted.map(({ id }) => id), context, passesOn);
  if (input.relay) {
    if (found.size === 0 && passesOn) return input;
    const message = `Cannot serve "${input.relay.field}" for a conversation with ids of files: send their contents`;
    throw new GatewayError("invalid_request", message, { param: input.relay.field });
  }
  const present = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  for (const { id, at, path } of wanted) {
    if (found.has(id) || passesOn || at < present) continue;
    throw new GatewayError("invalid_request", `File with id '${nameLine(id)}' not found`, { param: path });
  }
  const contents = await load(wanted, found, present, context);
  const replace = (part: FilePart): FilePart | TextPart => {
    if (part.source.type !== "id") return part;
    const content = contents.get(part.source.id);
    if (content) return filled(part, content);
    if (passesOn && !found.has(part.source.id)) return part;
    note("replaced a file that is not stored any more with text");
    const id = nameLine(part.source.id);
    return { type: "text", text: `[file omitted: the file with id '${id}' is not stored any more]` };
  };
  return { ...input, messages: messages.map((message) => withFiles(message, replace)) };
}

/** A file that a conversation names, and where. */
interface Wanted {
  id: string;
  /** The index of its message, and the path of its part. */
  at: number;
  path: string;
}

function filesIn(messages: readonly Message[]): Wanted[] {
  const wanted: Wanted[] = [];
  for (const [at, { content }] of messages.entries()) {
    for (const [index, part] of content.entries()) {
      const path = `messages[${at}].content[${index}]`;
      const inner = part.type === "tool-result" ? part.content : [part];
      for (const one of inner) {
        if (one.type === "file" && one.source.type === "id") wanted.push({ id: one.source.id, at, path });
      }
    }
  }
  return wanted;
}

/** The files by the ids that the client used. `passesOn`: whether it does not matter if there are no files here. */
async function find(ids: readonly string[], context: RequestContext, passesOn: boolean) {
  const found = new Map<string, StoredFile>();
  if (passesOn && (context.caller.files === false || !context.gateway.state.files)) return found;
  const files = await openFiles(context);
  const all = new Map((await files.list(context.caller.owner)).map((file) => [file.id, file]));
  for (const id of ids) {
    const file = all.get(bareId(id));
    if (file) found.set(id, file);
  }
  return found;
}

interface Content {
  file: StoredFile;
  bytes: Uint8Array;
}

/**
 * Reads the contents. They need as much room as if the client had sent them, and no more may come than it could send. One of an
 * earlier turn that can never be read again is left out, because the conversation must go on.
 */
async function load(
  wanted: readonly Wanted[],
  found: ReadonlyMap<string, StoredFile>,
  present: number,
  context: RequestContext,
): Promise<Map<string, Content>> {
  const { gateway: { guards }, caller: { owner }, requestLog } = context;
  const total = wanted.reduce((all, { id }) => all + (found.get(id)?.bytes ?? 0), 0);
  // As base64, which is how they go on.
  const needed = Math.ceil(total / 3) * 4;
  if (needed > guards.limits.bodyBytes) throw tooLarge("request with its files", guards.limits.bodyBytes);
  requestLog.atEnd(guards.uploads.reserve(needed, owner));
  const files = await openFiles(context);
  const contents = new Map<string, Content>();
  for (const [id, file] of found) {
    try {
      contents.set(id, { file, bytes: await bytesOf(files, owner, file.id) });
    } catch (thrown) {
      const { code, details: { retryable } } = toGatewayError(thrown);
      const isLost = code === "not_found" || retryable === false;
      if (!isLost || wanted.some((one) => one.id === id && one.at >= present)) throw thrown;
    }
  }
  return contents;
}

/** All bytes of a stored file. */
export async function bytesOf(files: Files, owner: string, id: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const { content } = await files.read(owner, id);
  for await (const piece of content) pieces.push(piece);
  return builtin("node:buffer").Buffer.concat(pieces);
}

/** The part with its content. A text is what every model can read. */
function filled(part: FilePart, { file, bytes }: Content): FilePart | TextPart {
  const { name: stored, mediaType: kept } = file;
  const mediaType = kept === "application/octet-stream" ? typeByName(stored) ?? kept : kept;
  if (isText(mediaType)) return { type: "text", text: headed(part.name ?? stored, decodeText(bytes)) };
  const data = builtin("node:buffer").Buffer.from(bytes).toString("base64");
  // Pictures have no place for a name on most wires.
  const name = mediaType.startsWith("image/") ? part.name : part.name ?? stored;
  return { ...part, mediaType, source: { type: "base64", data }, ...(name !== undefined && { name }) };
}

/** Decodes a text by its byte order mark, else as UTF-8, else as Windows-1252. */
export function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return decodeUtf8(bytes) ?? new TextDecoder("windows-1252").decode(bytes);
}

/** `undefined` if the bytes are no UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The text of a document under its name. */
export function headed(name: string, text: string): string {
  return `${nameLine(name)}\n\n${text}`;
}

function withFiles(message: Message, replace: (part: FilePart) => FilePart | TextPart): Message {
  const inner = <P extends { type: string }>(parts: readonly P[]): P[] =>
    parts.map((part) => part.type === "file" ? replace(part as unknown as FilePart) as unknown as P : part);
  if (message.role !== "tool") return { ...message, content: inner(message.content) } as Message;
  return { ...message, content: message.content.map((result) => ({ ...result, content: inner(result.content) })) };
}
