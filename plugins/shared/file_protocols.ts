/** The endpoints of uploaded files that the wires of two vendors have at the same paths. */
import type { EndpointDescription } from "../../src/contract/description.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import type { FileVerb } from "./files.ts";

/** An endpoint: its method, its path in a lane, and the body of its requests. */
type Endpoint = readonly [method: "GET" | "POST" | "DELETE", path: string, body?: Protocol<"files">["body"]];

/** The endpoints that both wires have, by what they do. */
export const FILE_PATHS = {
  upload: ["POST", "/v1/files", "form"],
  list: ["GET", "/v1/files"],
  get: ["GET", "/v1/files/:id"],
  content: ["GET", "/v1/files/:id/content"],
  remove: ["DELETE", "/v1/files/:id"],
} as const satisfies Record<string, Endpoint>;

type Verbs<Verb extends string, T> = Readonly<Record<Verb, T>>;

interface FileWire<Verb extends string>
  extends Pick<Protocol<"files">, "wire" | "accepts" | "serializeAllowance" | "serializeError"> {
  /** The first part of the names. */
  prefix: string;
  endpoints: Verbs<Verb, Endpoint>;
  /** Loads the code at the first request, because few clients upload files. */
  load(): Promise<Verbs<NoInfer<Verb>, FileVerb>>;
  describe(): Promise<{ files: Verbs<NoInfer<Verb>, EndpointDescription> }>;
}

export function fileProtocols<Verb extends string>(
  { prefix, endpoints, load, describe, ...wire }: FileWire<Verb>,
): readonly Protocol<"files">[] {
  let verbs: Verbs<Verb, FileVerb>;
  return (Object.entries(endpoints) as [Verb, Endpoint][]).map((
    [verb, [method, path, body = "none"]],
  ): Protocol<"files"> => ({
    ...wire,
    name: prefix + verb,
    load: () => verbs ? undefined : load().then((loaded) => void (verbs = loaded)),
    describe: async () => (await describe()).files[verb],
    operation: "files",
    method,
    pattern: new PathPattern(`/:lane${path}`),
    body,
    parse: (asked) => verbs[verb].parse(asked),
    serialize: (answer, exchange) => verbs[verb].serialize(answer, exchange),
  }));
}
