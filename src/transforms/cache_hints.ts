/** Cache hints mark the end of a prefix that is worth caching. Clients of several wires send them in the same form. */
import type { Extra } from "../canonical/extra.ts";
import type { GenerateRequest, Message, OutputPart, Tool, ToolResultPart } from "../canonical/generate.ts";

/** The name of the field on every wire that has it. */
export const CACHE_HINT = "cache_control";

interface Extended {
  extra?: Extra;
}
type Part = OutputPart | ToolResultPart;

/**
 * Converts the request's cache hints to those of `wire`, whose servers accept them on texts, tool results, tools and the request
 * itself. `note` reports other fields that a client of another wire sent with them.
 */
export function adoptCacheHints(
  request: GenerateRequest,
  wire: string,
  note: (text: string) => void,
): GenerateRequest {
  const adopt = <T extends Extended>(one: T, from: Extended = one): T => {
    const { extra } = from;
    if (!extra || extra.wire === wire || !isHinted(from)) return one;
    for (const field of Object.keys(extra.fields)) if (field !== CACHE_HINT) note(`dropped ${field}`);
    return { ...one, extra: { wire, fields: { [CACHE_HINT]: extra.fields[CACHE_HINT] } } };
  };
  const adoptPart = (part: Part): Part => {
    if (part.type === "text") return adopt(part);
    if (part.type !== "tool-result") return part;
    // Not every wire allows a hint inside a result. The hint moves to the result, whose end is the same.
    const hinted = isHinted(part) ? part : part.content.findLast(isHinted);
    return hinted ? adopt({ ...part, content: part.content.map(withoutHint) }, hinted) : part;
  };
  const adopted = changed(request, adopt, (message) => {
    if (!isHinted(message) && !partsOf(message).some(holdsExtra)) return message;
    const parts = partsOf(message).map(adoptPart);
    const last = parts.at(-1);
    if (!isHinted(message) || last?.type !== "text") return { ...message, content: parts };
    return { ...withoutHint(message), content: [...parts.slice(0, -1), adopt(last, message)] };
  });
  return adopt(adopted);
}

/** The request without cache hints; the same object if it has none. */
export function withoutCacheHints<T extends GenerateRequest>(request: T, note: (text: string) => void): T {
  let found = false;
  const strip = <P extends Extended>(one: P): P => {
    found ||= isHinted(one);
    return withoutHint(one);
  };
  const stripPart = (part: Part): Part => {
    const own = strip(part);
    return own.type === "tool-result" ? { ...own, content: own.content.map(strip) } : own;
  };
  const bare = changed(strip(request), strip, (message) => ({
    ...strip(message),
    content: partsOf(message).map(stripPart),
  }));
  if (found) note(`dropped ${CACHE_HINT}`);
  return found ? bare : request;
}

function changed<T extends GenerateRequest>(
  request: T,
  changeTool: (tool: Tool) => Tool,
  changeMessage: (message: Message) => object,
): T {
  const { messages, tools } = request;
  return {
    ...request,
    ...(tools && { tools: tools.map((tool) => changeTool(tool)) }),
    messages: messages.map((message) => changeMessage(message) as Message),
  };
}

function partsOf({ content }: Message): readonly Part[] {
  return content;
}

/** Whether the part may contain a hint. */
function holdsExtra(part: Part): boolean {
  return part.extra !== undefined ||
    part.type === "tool-result" && part.content.some(({ extra }) => extra !== undefined);
}

function isHinted({ extra }: Extended): boolean {
  return extra?.fields[CACHE_HINT] !== undefined;
}

/** Removes the hint. A text without one is plain again and can be joined with its neighbours. */
function withoutHint<T extends Extended>(one: T): T {
  const { extra, ...plain } = one;
  if (!extra || !isHinted(one)) return one;
  const { [CACHE_HINT]: _, ...fields } = extra.fields;
  const isBare = Object.keys(fields).length === 0 && !extra.hints;
  return isBare ? plain as T : { ...one, extra: { ...extra, fields } };
}
