import type { FilesAnswer, FilesRequest } from "../canonical/files.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";
import { admitLimited } from "../inference/admission.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";
import { openFiles } from "../inference/given_files.ts";
import type { Files } from "../state/files.ts";

/** Stores, lists, returns or deletes files of the caller. */
export async function files(incoming: Incoming<"files">): Promise<Response> {
  const { protocol, input, context, lane } = incoming;
  const kept = await openFiles(context);
  // It uses no tokens and costs nothing, but it counts as a request.
  if (context.gateway.guards.budgets || context.caller.quota) await admitLimited(context, 0);
  const found = await answer(kept, input, context);
  return protocol.serialize({ ...found, base: baseOf(context, lane.name) }, openExchange(incoming, input));
}

async function answer(
  files: Files,
  asked: FilesRequest,
  { caller: { owner }, gateway: { newId } }: RequestContext,
): Promise<Omit<FilesAnswer, "base">> {
  switch (asked.action) {
    case "upload":
      return { files: [await files.create(owner, newId(), asked.facts, asked.content)] };
    case "begin":
      return { files: [await files.begin(owner, newId(), asked.facts, asked.bytes)], received: 0 };
    case "append": {
      const { file, received, isComplete } = await files.append(owner, asked.id, asked);
      return { files: [file], ...(!isComplete && { received }) };
    }
    case "part": {
      const { file, part } = await files.add(owner, asked.id, asked.content);
      return { files: [file], part };
    }
    case "complete":
      return { files: [await files.complete(owner, asked.id, asked)] };
    case "cancel":
      return { files: [await files.cancel(owner, asked.id)] };
    case "progress": {
      const { file, received, isComplete } = await files.progress(owner, asked.id);
      return { files: [file], ...(!isComplete && { received }) };
    }
    case "list":
      return { files: await files.list(owner) };
    case "get":
      return { files: [await files.find(owner, asked.id)] };
    case "delete":
      return { files: [await files.delete(owner, asked.id)] };
    case "content": {
      const { file, content } = await files.read(owner, asked.id);
      return { files: [file], content: await streamOf(content) };
    }
    default:
      return asked satisfies never;
  }
}

/** One piece at a time, as the client reads: a slow client holds no more of the file than that. */
async function streamOf(content: AsyncIterable<Uint8Array<ArrayBuffer>>) {
  const pieces = content[Symbol.asyncIterator]();
  // A content that cannot be read is found out while there is still a status to say so.
  let next: Promise<IteratorResult<Uint8Array<ArrayBuffer>>> | undefined = Promise.resolve(await pieces.next());
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await (next ?? pieces.next());
      next = undefined;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return?.();
    },
  }, { highWaterMark: 0 });
}

/** A proxy may speak another scheme with the client, which is not trusted with more than its own upload's address. */
function baseOf({ request: { headers }, url }: RequestContext, lane: string): string {
  if (!url) throw new GatewayError("invalid_request", "The host of the request is invalid");
  const scheme = headers.get("x-forwarded-proto") === "https" ? "https:" : url.protocol;
  return `${scheme}//${url.host}/${encodeURIComponent(lane)}`;
}
