/** Documents in a conversation: text and pictures take their place, for models that read no documents. */
import { isText, typeByName } from "../canonical/document_types.ts";
import type { FilePart, GenerateRequest, InputPart, Message } from "../canonical/generate.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { tooLarge } from "../http/size.ts";
import type { DocumentText, ReadDocument } from "../hosted/read_document.ts";
import { builtin } from "../util/builtin.ts";
import { decodeText, decodeUtf8, headed } from "./given_files.ts";
import type { Inference } from "./inference.ts";

type Conversation = Pick<Inference<"generate">, "context" | "plan" | "note">;

const OFFICE = "application/vnd.openxmlformats-officedocument.";
const OFFICE_TYPES = ["wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation"];
/** The types that the fetcher reads. */
const READ = new Set(["application/pdf", ...OFFICE_TYPES.map((one) => OFFICE + one)]);
/** The longer side of a page's picture by how closely to look, in pixels. */
const SIDES: Readonly<Record<string, number>> = { low: 768, high: 1_568 };
const USUAL_SIDE = 1_200;
/** The share of the largest body that pictures may take. */
const PICTURES = 1 / 2;

/**
 * The request with documents that the model can read. A document of the user's present turn that cannot be read is refused. In
 * earlier turns and in results of tools, a text stands in for it, because a conversation must go on.
 */
export async function withReadDocuments(
  input: GenerateRequest,
  { context, plan, note }: Conversation,
): Promise<GenerateRequest> {
  const { gateway, caller: { owner }, signal, requestLog } = context;
  const read = await gateway.documents?.();
  if (!read || plan.inputModalities?.includes("file")) return input;
  const { bodyBytes } = gateway.guards.limits;
  const room: Room = { pictures: bodyBytes * PICTURES, text: bodyBytes, limit: bodyBytes };
  const sees = plan.inputModalities?.includes("image") === true;
  const { messages } = input;
  const present = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  const taken: Message[] = [];
  for (const [at, message] of messages.entries()) {
    const isPresent = at >= present && message.role === "user";
    taken.push(
      await withParts(message, async (part, index) => {
        const mediaType = typeOf(part);
        if (part.source.type !== "base64" || /^(image|audio|video)\//.test(mediaType)) return [part];
        try {
          return await partsOf({ ...part, mediaType }, part.source.data, { read, owner, signal, sees, room, note });
        } catch (thrown) {
          signal.throwIfAborted();
          const { code, message } = toGatewayError(thrown);
          // A conversation must go on even if its reader stays away.
          if (code === "rate_limit" || isPresent && code !== "invalid_request") throw thrown;
          const param = `messages[${at}].content[${index}]`;
          if (isPresent) throw new GatewayError(code, `Cannot read "${param}": ${message}`, { param });
          note("replaced a document that could not be read with text");
          return [{ type: "text", text: `[document omitted: ${message}]` }];
        }
      }),
    );
  }
  const added = bodyBytes * PICTURES - room.pictures + bodyBytes - room.text;
  if (added > 0) requestLog.atEnd(gateway.guards.uploads.reserve(Math.ceil(added), owner));
  return { ...input, messages: taken };
}

/** The room for further pictures and texts, in characters. A small document can have much text, and be named often. */
interface Room {
  pictures: number;
  text: number;
  /** The room for texts at the beginning. */
  limit: number;
}

interface Reading {
  read: ReadDocument;
  owner: string;
  signal: AbortSignal;
  /** Whether the model takes pictures. */
  sees: boolean;
  room: Room;
  note(text: string): void;
}

async function partsOf(
  part: FilePart,
  data: string,
  { read, room, sees, note, ...asker }: Reading,
): Promise<InputPart[]> {
  const { mediaType, name = "Document" } = part;
  if (!READ.has(mediaType)) return [{ type: "text", text: headed(name, textOf(mediaType, data)) }];
  const detail = part.detail ?? part.extra?.fields.detail;
  const side = SIDES[String(detail)] ?? USUAL_SIDE;
  const { owner, signal } = asker;
  const most = sees && mediaType === "application/pdf" ? MOST_PICTURES : 0;
  const found = await read({ mediaType, data, pictures: most, side, owner }, signal);
  if (room.text < found.text.length) throw tooLarge("request with the text of its documents", room.limit);
  room.text -= found.text.length;
  const pictures: string[] = [];
  for (const picture of found.pictures) {
    if (room.pictures < picture.length) break;
    room.pictures -= picture.length;
    pictures.push(picture);
  }
  noteRead(found, pictures.length, sees, note);
  return [
    { type: "text", text: headed(name, found.text) },
    ...pictures.map((picture): FilePart => ({
      type: "file",
      mediaType: "image/png",
      source: { type: "base64", data: picture },
      ...(part.detail !== undefined && { detail: part.detail }),
    })),
  ];
}

/** The text of a file. Without a type for it, whatever is UTF-8 without zero bytes counts. Throws `invalid_request`. */
function textOf(mediaType: string, data: string): string {
  const bytes = builtin("node:buffer").Buffer.from(data, "base64");
  if (isText(mediaType)) return decodeText(bytes);
  const text = decodeUtf8(bytes);
  if (text !== undefined && !text.includes("\0")) return text;
  const message = `Files of type "${mediaType}" are not read: send text, PDF, docx, xlsx or pptx`;
  throw new GatewayError("invalid_request", message);
}

/** The configuration sets a lower limit. */
const MOST_PICTURES = 100;

function noteRead({ isCut, pages }: DocumentText, pictures: number, sees: boolean, note: (text: string) => void): void {
  if (isCut) note("cut the text of a document");
  if (pages === undefined) return note("replaced a document with its text");
  if (!sees) return note("replaced a PDF with its text");
  note(
    pictures < pages
      ? `replaced a PDF with its text and ${pictures} of ${pages} pages`
      : "replaced a PDF with its pages",
  );
}

/** The type of a file, which clients leave open or declare loosely. */
function typeOf({ mediaType, name = "", source }: FilePart): string {
  if (mediaType !== "application/octet-stream") return mediaType;
  const isPdf = source.type === "base64" && source.data.startsWith("JVBER");
  return isPdf ? "application/pdf" : typeByName(name) ?? mediaType;
}

type Replace = (part: FilePart, index: number) => Promise<InputPart[]>;

async function withParts(message: Message, replace: Replace): Promise<Message> {
  if (message.role === "system" || message.role === "assistant") return message;
  if (message.role === "user") return { ...message, content: await inner(message.content, replace) };
  const content = [];
  for (const result of message.content) content.push({ ...result, content: await inner(result.content, replace) });
  return { ...message, content };
}

/** One after the other: several documents at once would take the reader from other callers. */
async function inner(parts: readonly InputPart[], replace: Replace): Promise<InputPart[]> {
  const replaced: InputPart[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.type === "file") replaced.push(...await replace(part, index));
    else replaced.push(part);
  }
  return replaced;
}
