/** The interpreter's HTTP server: `POST /run` and `POST /find` with a token, and `GET /healthz`. */
import type { Server } from "node:http";
import { asObject, asObjects, asText, parseJson } from "../canonical/json.ts";
import { type BesideOptions, bytesOf, createBesideServer } from "../platform/beside.ts";
import { plainPath } from "./container.ts";
import type { Containers } from "./containers.ts";
import type { RunRequest } from "./protocol.ts";

export interface InterpreterServerOptions extends Pick<BesideOptions, "token" | "say"> {
  containers: Pick<Containers, "run" | "expiryOf" | "count">;
  /** The largest request, in bytes. */
  requestBytes: number;
}

/** How long a request may take to arrive, in milliseconds. */
const ARRIVAL_MS = 60_000;

export function createInterpreterServer({ containers, requestBytes, ...options }: InterpreterServerOptions): Server {
  const run = (asked: RunRequest, signal: AbortSignal) => containers.run(asked, signal);
  const find = ({ container, owner }: RunRequest) => {
    const expires = containers.expiryOf(container, owner);
    return expires === undefined ? { error: "expired" } : { expires };
  };
  return createBesideServer({
    ...options,
    arrivalMs: ARRIVAL_MS,
    health: () => ({ containers: containers.count }),
    reader({ pathname }) {
      const work = pathname === "/run" ? run : pathname === "/find" ? find : undefined;
      return work && (async (request) => {
        const body = await bytesOf(request, requestBytes);
        const asked = body && askedIn(parseJson(new TextDecoder().decode(body)));
        return asked && ((signal) => work(asked, signal));
      });
    },
  });
}

function askedIn(body: unknown): RunRequest | undefined {
  const { container, owner, isNew, isShared, code, files, onlyMissing } = asObject(body);
  if (typeof container !== "string" || container === "" || typeof owner !== "string") return undefined;
  const given = asObjects(files).map(({ name, data }) => ({ name: asText(name), data: asText(data) }));
  if (given.some(({ name }) => plainPath(name) === undefined || name.includes("/"))) return undefined;
  return {
    container,
    owner,
    isNew: isNew === true,
    isShared: isShared === true,
    code: asText(code),
    files: given,
    onlyMissing: onlyMissing === true,
  };
}
