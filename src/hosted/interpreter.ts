/** Runs code by way of the interpreter, which is a process of its own. */
import type { HostedResult } from "../canonical/hosted.ts";
import { asObject, asObjects, asText, type JsonObject } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import { type Callee, readReply, send } from "../upstream/send.ts";
import { digestOf } from "../util/digest.ts";
import { abortAfter } from "../util/timeout.ts";
import type { CodePlace, Interpreter } from "./runner.ts";

export interface InterpreterOptions {
  /** The interpreter. Absent if none runs. */
  service?: Callee;
  /** How long one execution may take, in milliseconds. */
  timeoutMs: number;
  outputCharacters: number;
  fileBytes: number;
}

/** How long code may wait for a process and for its start, in milliseconds. */
const WAIT_MS = 120_000;
/** An upper limit on the length of an escape in JSON, and on what stands around the texts. */
const [ESCAPED, AROUND] = [6, 200_000];

export function createInterpreter(
  { service, timeoutMs, outputCharacters, fileBytes }: InterpreterOptions,
): Interpreter {
  const most = 2 * ESCAPED * outputCharacters + 2 * fileBytes + AROUND;
  const ask = async (path: string, body: JsonObject, ms: number, signal: AbortSignal) => {
    if (!service) throw new GatewayError("unavailable", "No interpreter is running beside the gateway");
    const late = () => new GatewayError("upstream_timeout", `The code did not run within ${ms} ms`);
    const reply = await abortAfter(
      ms,
      signal,
      async (signal) => await readReply(await send({ path, body }, service, signal), most),
      late,
    );
    if (reply.status !== 200) {
      throw new GatewayError("upstream_error", `The interpreter answered with status ${reply.status}`);
    }
    return asObject(reply.body);
  };
  return {
    async expiryOf(container, owner, signal) {
      const { expires } = await ask("find", { container, owner: digestOf(owner) }, WAIT_MS, signal);
      return typeof expires === "number" ? expires : undefined;
    },
    async run({ code, container }, { owner, key, signal, onFailure, code: place }) {
      if (!place) return { kind: "error", code: "unavailable" };
      try {
        return await place.inTurn(async (files) => {
          const body = {
            container,
            isNew: place.isNew,
            onlyMissing: place.onlyMissing,
            owner: digestOf(owner ?? key),
            isShared: owner !== undefined,
            code,
            files: files.map(({ name, data }) => ({ name, data })),
          };
          return await resultIn(await ask("run", body, timeoutMs + WAIT_MS, signal), place);
        });
      } catch (reason) {
        signal.throwIfAborted();
        onFailure(reason);
        return { kind: "error", code: "unavailable" };
      }
    },
  };
}

async function resultIn(answer: JsonObject, place: CodePlace): Promise<HostedResult> {
  const failure = FAILURES[asText(answer.error)];
  if (failure) return failure;
  const { stdout, stderr, exitCode, files, expires } = answer;
  if (typeof stdout !== "string") {
    throw new GatewayError("upstream_error", "The interpreter's answer contains no output");
  }
  let words = asText(stderr);
  const made = asObjects(files).map(({ name, data }) => ({ name: asText(name), data: asText(data) }));
  const kept = await place.keep(made, (text) => words += `\n[${text}]\n`);
  return {
    kind: "executed",
    stdout,
    stderr: words,
    exitCode: Number(exitCode),
    files: kept,
    ...(typeof expires === "number" && { expires }),
  };
}

const FAILURES: Readonly<Record<string, HostedResult>> = {
  too_many_requests: { kind: "error", code: "too_many_requests" },
  expired: { kind: "error", code: "expired" },
  late: { kind: "error", code: "too_late" },
  failed: {
    kind: "error",
    code: "expired",
    message: "The code took too much memory, or brought Python down. Its variables and files are gone.",
  },
};
