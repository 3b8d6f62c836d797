/** The protocols of the Gemini API: conversations, token counts, embeddings, and lists of models. */
import { parseListQuery } from "../../src/canonical/models.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, KeyPlaces, Protocol } from "../../src/contract/protocol.ts";
import { serializeError } from "./errors.ts";
import type * as Verbs from "./verbs.ts";

/** Few clients use this wire, so its code is loaded at the first request. */
let verbs: typeof Verbs;

function load(): Promise<void> | undefined {
  return verbs ? undefined : import("./verbs.ts").then((loaded) => void (verbs = loaded));
}

const keyPlaces: KeyPlaces = { header: "x-goog-api-key", parameter: "key" };

function speaksThisWire(headers: Headers, pathname?: string): boolean {
  return headers.has(keyPlaces.header) || headers.has("x-goog-api-client") || INTERACTIONS.test(pathname ?? "");
}

/** The newer API of conversations that the vendor keeps. No other wire has such a path. */
const INTERACTIONS = /^(?:\/[^/]+)?\/v1(?:alpha|beta)?\/interactions(?:\/|$)/;

function unserved(pathname: string): string | undefined {
  return INTERACTIONS.test(pathname)
    ? "The gateway serves no interactions: use generateContent, or Responses for conversations that are kept"
    : undefined;
}

/** A model's name may contain slashes and colons. The action follows the last colon. */
function actionOn(version: string, action: string): PathPattern {
  return new PathPattern(`/:lane/${version}/models/:id(.+)\\:${action}`);
}

/** The fields that all protocols share. */
const shared = { wire: "gemini", load, keyPlaces, speaksFor: speaksThisWire, unserved, serializeError };

function conversations(version: string): AnyProtocol[] {
  const generate: Protocol<"generate"> = {
    ...shared,
    name: `gemini-${version}`,
    describe: async () => (await import("./description.ts")).generate,
    operation: "generate",
    method: "POST",
    pattern: actionOn(version, "generateContent"),
    body: "json",
    conversation: "contents",
    parse: (wire) => verbs.parseRequest(wire, false),
    reasoning: (wire) => verbs.reasoningPlace(wire),
    failTools: (tools, exchange) => verbs.failTools(tools, exchange),
    serialize: (output, exchange) => Response.json(verbs.serializeResponse(output, exchange)),
    stream: { framing: "sse", writer: (exchange) => verbs.serializeStream(exchange) },
  };
  const stream: Protocol<"generate"> = {
    ...generate,
    name: `gemini-${version}-stream`,
    describe: async () => (await import("./description.ts")).stream,
    pattern: actionOn(version, "streamGenerateContent"),
    accepts: ({ query }) => (query.get("alt") ?? query.get("$alt"))?.toLowerCase() === "sse",
    parse: (wire) => verbs.parseRequest(wire, true),
    client: async () => (await import("./client.ts")).client,
  };
  const list: Protocol<"generate"> = {
    ...stream,
    name: `gemini-${version}-list`,
    describe: async () => (await import("./description.ts")).list,
    accepts: undefined,
    // Blank lines are allowed inside a JSON list.
    keepAlive: () => ({ data: "" }),
    stream: { framing: "json", writer: (exchange) => verbs.serializeList(exchange) },
  };
  const countTokens: Protocol<"countTokens"> = {
    ...shared,
    name: `gemini-${version}-count-tokens`,
    describe: async () => (await import("./description.ts")).countTokens,
    operation: "countTokens",
    method: "POST",
    pattern: actionOn(version, "countTokens"),
    body: "json",
    parse: (wire) => verbs.parseCount(wire),
    serialize: ({ inputTokens }) => Response.json({ totalTokens: inputTokens }),
  };
  return [generate, stream, list, countTokens];
}

function embeddings(version: string): AnyProtocol[] {
  const embed: Protocol<"embed"> = {
    ...shared,
    name: `gemini-${version}-embed`,
    describe: async () => (await import("./description.ts")).embed,
    operation: "embed",
    method: "POST",
    pattern: actionOn(version, "embedContent"),
    body: "json",
    parse: (wire) => verbs.parseEmbed(wire),
    serialize: (output) => verbs.serializeEmbed(output),
  };
  const batch: Protocol<"embed"> = {
    ...embed,
    name: `gemini-${version}-embed-batch`,
    describe: async () => (await import("./description.ts")).embedBatch,
    pattern: actionOn(version, "batchEmbedContents"),
    parse: (wire) => verbs.parseBatch(wire),
    serialize: (output) => verbs.serializeBatch(output),
  };
  return [embed, batch];
}

/** `isShared`: whether clients of other wires use the same path for their lists. */
function lists(version: string, isShared: boolean): AnyProtocol[] {
  const accepts: AnyProtocol["accepts"] = isShared
    ? ({ headers, query }) => speaksThisWire(headers) || query.has(keyPlaces.parameter)
    : undefined;
  const describe = async (which: "models" | "oneModel") => {
    const { beside, [which]: described } = await import("./description.ts");
    return isShared ? beside(described) : described;
  };
  const models: Protocol<"listModels"> = {
    ...shared,
    name: `gemini-${version}-models`,
    describe: () => describe("models"),
    operation: "listModels",
    method: "GET",
    pattern: new PathPattern(`/:lane/${version}/models`),
    body: "none",
    accepts,
    parse: ({ query }) => parseListQuery(query),
    serialize: (output, { wire }) => Response.json(verbs.serializeModelList(output, wire.query)),
  };
  const model: Protocol<"getModel"> = {
    ...shared,
    name: `gemini-${version}-model`,
    describe: () => describe("oneModel"),
    operation: "getModel",
    method: "GET",
    pattern: new PathPattern(`/:lane/${version}/models/:id(.+)`),
    body: "none",
    accepts,
    parse: ({ params }) => ({ model: params.id ?? "" }),
    serialize: (output) => Response.json(verbs.serializeModel(output)),
  };
  return [models, model];
}

/** `isShared`: whether clients of other wires use the same paths for their files. */
function files(version: string, isShared: boolean): Protocol<"files">[] {
  const isOwn = ({ headers, query }: Asking) => speaksThisWire(headers) || query.has(keyPlaces.parameter);
  const endpoint = (
    verb: keyof typeof Verbs.files,
    method: "GET" | "POST" | "DELETE",
    path: string,
    more: Pick<Protocol<"files">, "body" | "accepts">,
  ): Protocol<"files"> => ({
    ...shared,
    name: `gemini-${version}-files-${verb}`,
    describe: async () => {
      const { beside, files } = await import("./description.ts");
      return isShared && method !== "POST" ? beside(files[verb]) : files[verb];
    },
    operation: "files",
    method,
    pattern: new PathPattern(`/:lane/${path}`),
    ...more,
    parse: (wire) => verbs.files[verb].parse(wire),
    serialize: (answer, exchange) => verbs.files[verb].serialize(answer, exchange),
  });
  const upload = `upload/${version}/files`;
  const kept = { body: "none", accepts: isShared ? isOwn : undefined } as const;
  return [
    // Uploads in pieces begin with JSON. Then the bytes come to the same path, with the id of the upload.
    endpoint("begin", "POST", upload, {
      body: "json",
      accepts: ({ headers }) => /\bstart\b/.test(headers.get("x-goog-upload-command") ?? ""),
    }),
    endpoint("append", "POST", upload, { body: "bytes", accepts: ({ query }) => query.has("upload_id") }),
    endpoint("upload", "POST", upload, { body: "bytes" }),
    endpoint("list", "GET", `${version}/files`, kept),
    endpoint("get", "GET", `${version}/files/:id`, kept),
    endpoint("remove", "DELETE", `${version}/files/:id`, kept),
  ];
}

type Asking = Parameters<NonNullable<AnyProtocol["accepts"]>>[0];

/** Libraries use `v1beta`, and newer ones use `v1`, where other wires have their lists of models, too. */
export const geminiProtocols: readonly AnyProtocol[] = ["v1beta", "v1"].flatMap((version) => [
  ...conversations(version),
  ...embeddings(version),
  ...lists(version, version === "v1"),
  ...files(version, version === "v1"),
]);
