/** The container of an answer's code: which one it is, and the files that go in and out. */
import { bareId, MADE_BY_TOOL, type StoredFile } from "../canonical/files.ts";
import type { Message } from "../canonical/generate.ts";
import type { CodeWork, MadeFile } from "../canonical/hosted.ts";
import { typeByName } from "../canonical/document_types.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import type { CodePlace, NamedContent } from "../hosted/runner.ts";
import { tooLarge } from "../http/size.ts";
import { matchesAny } from "../lanes/patterns.ts";
import { stepsIn } from "../transforms/approvals.ts";
import type { HostedFunction } from "../transforms/hosted_functions.ts";
import { builtin } from "../util/builtin.ts";
import { bytesOf, openFiles } from "./given_files.ts";

/** The folder in which Python finds and leaves files. */
const FOLDER = "/mnt/data";
/** How long a file that code has made is kept, in milliseconds. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** The container of an answer, and the function that is offered for it. */
export interface PlacedCode {
  place: CodePlace;
  /** The function with its container, and with the names of the files in it. */
  offered(one: HostedFunction): HostedFunction;
}

/** Throws if the request names a container or a file that the caller does not have. */
export async function placeCode(
  work: CodeWork,
  messages: readonly Message[],
  context: RequestContext,
): Promise<PlacedCode> {
  const { keys } = context.gateway.hosted.limits.codeExecution ?? {};
  if (keys && !matchesAny(context.caller.name, keys)) {
    throw new GatewayError("permission", "This key is not allowed to run code");
  }
  if (work.lacks !== undefined) context.note(`code runs as Python alone: dropped ${work.lacks}`);
  const { id, isNew } = await containerOf(work, messages, context);
  const onlyMissing = !isNew && work.newFiles === undefined;
  const wanted = (isNew || onlyMissing ? work.files : work.newFiles) ?? [];
  const given = wanted.length === 0 ? [] : await findAll(wanted, context);
  const names = given.map(({ name }) => `${FOLDER}/${name}`).join(", ");
  return {
    place: { isNew, onlyMissing, ...placeFor(given, context) },
    offered: ({ tool, ...one }) => ({
      ...one,
      container: id,
      tool: names === "" ? tool : { ...tool, description: `${tool.description} Files of the user: ${names}.` },
    }),
  };
}

/** An id that this wire could have given. */
function isShapedLike(id: string, prefix: string): boolean {
  return id.startsWith(prefix) && /^[\w-]{16,64}$/.test(id.slice(prefix.length));
}

async function containerOf(
  { container: named, continues, prefix }: CodeWork,
  messages: readonly Message[],
  { gateway, caller, signal, note }: RequestContext,
): Promise<{ id: string; isNew: boolean }> {
  const owner = gateway.guards.hasSeveralCallers ? caller.owner : caller.name;
  const isThere = async (id: string) =>
    isShapedLike(id, prefix) && await gateway.hosted.runner.expiryOf(id, owner, signal) !== undefined;
  if (named !== undefined) {
    if (await isThere(named)) return { id: named, isNew: false };
    if (isShapedLike(named, prefix)) {
      throw new GatewayError("invalid_request", "Container is expired.", { param: "container" });
    }
    throw new GatewayError("not_found", `Container with id '${named}' not found.`, { param: "container" });
  }
  const fresh = { id: `${prefix}${gateway.newId()}`, isNew: true };
  if (!continues) return fresh;
  const last = stepsIn(messages).findLast(({ call }) => call.kind === "code" && call.container !== "");
  if (last?.call.kind !== "code") return fresh;
  if (await isThere(last.call.container)) return { id: last.call.container, isNew: false };
  note("the container of earlier code has expired: code runs in a new one, without its variables and files");
  return fresh;
}

/** The files, under names that are safe and that no two of them share. */
async function findAll(ids: readonly string[], context: RequestContext): Promise<StoredFile[]> {
  const files = await openFiles(context);
  const all = new Map((await files.list(context.caller.owner)).map((file) => [file.id, file]));
  const taken = new Set<string>();
  return [...new Set(ids)].map((id) => {
    const file = all.get(bareId(id));
    if (!file) throw new GatewayError("invalid_request", `File with id '${id}' not found`, { param: "file_id" });
    const plain = file.name.replace(/[/\\\p{Cc}]/gu, "_").slice(-150).replace(/^\.+$/, "_") || "file";
    let name = plain;
    for (let count = 2; taken.has(name); count++) name = `${count}_${plain}`;
    taken.add(name);
    return { ...file, name };
  });
}

/** How code runs in the container, and the files go in and out. Throws if the files are too large for it. */
function placeFor(given: readonly StoredFile[], context: RequestContext): Pick<CodePlace, "inTurn" | "keep"> {
  const { gateway: { guards, hosted }, caller: { owner } } = context;
  const total = given.reduce((all, { bytes }) => all + bytes, 0);
  const most = hosted.limits.codeExecution?.fileBytes ?? 0;
  if (total > most) throw tooLarge("content of the files for the code", most);
  let areIn = given.length === 0;
  let last: Promise<unknown> = Promise.resolve();
  const runNext = async (execute: Parameters<CodePlace["inTurn"]>[0]) => {
    // As base64, which is how they go to the interpreter.
    const release = areIn ? undefined : guards.uploads.reserve(Math.ceil(total / 3) * 4, owner);
    try {
      const result = await execute(areIn ? [] : await contentsOf(given, context));
      // A failure may have ended the container. The next execution makes another one then.
      areIn = result.kind === "executed" || given.length === 0;
      return result;
    } finally {
      release?.();
    }
  };
  return {
    inTurn(execute) {
      const turn = last.then(() => runNext(execute));
      last = turn.catch(() => {});
      return turn;
    },
    keep: (files, say) => keepAll(files, say, context),
  };
}

async function contentsOf(given: readonly StoredFile[], context: RequestContext): Promise<NamedContent[]> {
  const files = await openFiles(context);
  return await Promise.all(given.map(async ({ id, name }) => {
    const bytes = await bytesOf(files, context.caller.owner, id);
    return { name, data: builtin("node:buffer").Buffer.from(bytes).toString("base64") };
  }));
}

async function keepAll(
  made: readonly NamedContent[],
  say: (text: string) => void,
  context: RequestContext,
): Promise<MadeFile[]> {
  const kept: MadeFile[] = [];
  const { caller: { owner }, gateway: { newId } } = context;
  for (const { name, data } of made) {
    try {
      const files = await openFiles(context);
      const content = builtin("node:buffer").Buffer.from(data, "base64");
      const mediaType = typeByName(name) ?? "application/octet-stream";
      const facts = { name, mediaType, purpose: MADE_BY_TOOL, keepMs: KEPT_MS };
      const { id, bytes } = await files.create(owner, newId(), facts, content);
      kept.push({ id, name, mediaType, bytes });
    } catch (thrown) {
      say(`${name} was not stored: ${toGatewayError(thrown).message}`);
    }
  }
  return kept;
}
