/** Asks the launcher that started this gateway. A question is a line of JSON, and so is the head of its answer. */
import { isJsonObject } from "../canonical/json.ts";
import { DESK, DESK_TOKEN } from "../config/permissions.ts";
import type { SetupTask } from "../context/setup.ts";
import { type ErrorCode, GatewayError } from "../errors.ts";
import type { Platform } from "../platform/platform.ts";
import { builtin } from "../util/builtin.ts";

export interface Launcher {
  host: string;
  port: number;
  /** Proves that this gateway asks. */
  token: string;
}

/** `session`: proves that a page has given the one-time code. */
export type Asked =
  | { ask: "state"; session?: string }
  | { ask: "open"; code: string }
  | { ask: "run"; session?: string; task: SetupTask; port?: number }
  | { ask: "restart"; session?: string; port?: number }
  /** A gateway that takes over says that it serves, or why it cannot. */
  | { ask: "started"; failure?: string };

export interface Answer {
  json(): Promise<unknown>;
  body(): ReadableStream<Uint8Array<ArrayBuffer>>;
}

const LONGEST = 16 * 2 ** 20;
const CODES: readonly ErrorCode[] = ["permission", "invalid_request", "rate_limit", "unsupported"];

/** The launcher, if it takes questions. */
export function launcherOf({ env, isGranted }: Pick<Platform, "env" | "isGranted">): Launcher | undefined {
  const [address, token] = [DESK, DESK_TOKEN].map((variable) =>
    isGranted({ name: "env", variable }) ? env(variable) : undefined
  );
  const [, host, port] = /^([\d.]+):(\d+)$/.exec(address ?? "") ?? [];
  return host === undefined || !token ? undefined : { host, port: Number(port), token };
}

/** Throws a `GatewayError` if the launcher refuses, or does not answer. When `signal` is aborted, the launcher ends its work. */
export async function askLauncher(launcher: Launcher, asked: Asked, signal?: AbortSignal): Promise<Answer> {
  const { host, port, token } = launcher;
  const socket = builtin("node:net").connect({ host, port });
  const leave = () => void socket.destroy();
  signal?.addEventListener("abort", leave, { once: true });
  socket.once("close", () => signal?.removeEventListener("abort", leave));
  const chunks = piecesOf(socket);
  try {
    socket.write(`${JSON.stringify({ token, ...asked })}\n`);
    const { head, rest } = await headOf(chunks);
    if (head.ok !== true) throw refusal(head);
    return answerOf(rest, chunks, leave);
  } catch (error) {
    leave();
    if (error instanceof GatewayError) throw error;
    throw new GatewayError("unavailable", "The launcher does not answer: restart the gateway", { cause: error });
  }
}

type Pieces = AsyncGenerator<Uint8Array<ArrayBuffer>, void>;

async function* piecesOf(socket: AsyncIterable<unknown>): Pieces {
  for await (const piece of socket) yield piece as Uint8Array<ArrayBuffer>;
}

async function headOf(pieces: Pieces): Promise<{ head: Record<string, unknown>; rest: Uint8Array<ArrayBuffer> }> {
  let bytes = new Uint8Array();
  for (;;) {
    const at = bytes.indexOf(10);
    if (at >= 0) {
      const head: unknown = JSON.parse(new TextDecoder().decode(bytes.subarray(0, at)));
      return { head: isJsonObject(head) ? head : {}, rest: bytes.slice(at + 1) };
    }
    const { value, done } = await pieces.next();
    if (done || bytes.length > LONGEST) throw new Error("The launcher ended the connection");
    const longer = new Uint8Array(bytes.length + value.length);
    longer.set(bytes);
    longer.set(value, bytes.length);
    bytes = longer;
  }
}

function refusal({ code, reason }: Record<string, unknown>): GatewayError {
  const known = CODES.find((one) => one === code) ?? "unavailable";
  return new GatewayError(known, typeof reason === "string" ? reason : "The launcher gives no reason");
}

function answerOf(rest: Uint8Array<ArrayBuffer>, pieces: Pieces, leave: () => void): Answer {
  const body = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => rest.length > 0 ? controller.enqueue(rest) : undefined,
      async pull(controller) {
        const { value, done } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: leave,
    });
  return { body, json: () => new Response(body()).json() };
}
