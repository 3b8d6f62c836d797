/** The endpoints of uploaded files that the wires of two vendors have at the same paths. */
import type { EndpointDescription } from "../../src/contract/description.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import type { FileVerb } from "./files.ts";

type Verbs<T> = Record<"upload" | "list" | "get" | "content" | "remove", T>;

interface FileWire extends Pick<Protocol<"files">, "wire" | "accepts" | "serializeAllowance" | "serializeError"> {
  /** The first part of the names. */
  prefix: string;
  /** Loads the code at the first request, because few clients upload files. */
  load(): Promise<Verbs<FileVerb>>;
  describe(): Promise<{ files: Verbs<EndpointDescription> }>;
}

export function fileProtocols({ prefix, load, describe, ...wire }: FileWire): readonly Protocol<"files">[] {
  let verbs: Verbs<FileVerb>;
  const endpoint = (
    verb: keyof Verbs<FileVerb>,
    method: "GET" | "POST" | "DELETE",
    path: string,
  ): Protocol<"files"> => ({
    ...wire,
    name: `${prefix}${verb}`,
    load: () => verbs ? undefined : load().then((loaded) => void (verbs = loaded)),
    describe: async () => (await describe()).files[verb],
    operation: "files",
    method,
    pattern: new PathPattern(`/:lane/v1/files${path}`),
    body: method === "POST" ? "form" : "none",
    parse: (asked) => verbs[verb].parse(asked),
    serialize: (answer, exchange) => verbs[verb].serialize(answer, exchange),
  });
  return [
    endpoint("upload", "POST", ""),
    endpoint("list", "GET", ""),
    endpoint("get", "GET", "/:id"),
    endpoint("content", "GET", "/:id/content"),
    endpoint("remove", "DELETE", "/:id"),
  ];
}
