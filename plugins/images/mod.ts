/**
 * The images wire: pictures drawn and changed, spoken to clients as protocols, and to OpenAI-compatible servers as a driver. The code
 * is loaded with the first request.
 */
import type { Driver } from "../../src/contract/driver.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { serializeAllowance, serializeError, upstreamError } from "../shared/errors.ts";
import type * as Verbs from "./verbs.ts";

let verbs: typeof Verbs;

function load(): Promise<void> | undefined {
  return verbs ? undefined : import("./verbs.ts").then((loaded) => void (verbs = loaded));
}

const generations: Protocol<"draw"> = {
  name: "images",
  describe: async () => (await import("./description.ts")).generations,
  wire: "images",
  load,
  operation: "draw",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/images/generations"),
  body: "json",
  parse: (wire) => verbs.parseRequest(wire),
  serialize: (output, exchange) => verbs.serializeResponse(output, exchange),
  stream: { framing: "sse", writer: (exchange) => verbs.serializeStream(exchange) },
  serializeAllowance,
  serializeError,
};

const edits: Protocol<"draw"> = {
  ...generations,
  name: "image-edits",
  describe: async () => (await import("./description.ts")).edits,
  pattern: new PathPattern("/:lane/v1/images/edits"),
  parse: (wire) => verbs.parseEdit(wire),
};

const editForms: Protocol<"draw"> = {
  ...edits,
  name: "image-edit-forms",
  describe: async () => (await import("./description.ts")).editForms,
  body: "form",
  accepts: ({ headers }) => /^multipart\//i.test(headers.get("content-type") ?? ""),
  parse: (wire) => verbs.parseEditForm(wire),
};

export const imagesProtocols: readonly AnyProtocol[] = [generations, editForms, edits];

/** Any server of this wire: vLLM-Omni, SGLang, LocalAI, stable-diffusion.cpp, and the vendor's own. */
export const imagesDriver: Driver = {
  name: "images",
  wire: "images",
  operations: {
    draw: {
      load,
      request: (input, target, context) => verbs.serializeRequest(input, target, context),
      next: (reply, input, step) => step === 0 ? verbs.fetchOnly(reply, input) : undefined,
      response(replies, input, _target, context) {
        const work = verbs.parseResponse(replies, input, context);
        let step = work.next();
        while (!step.done) step = work.next();
        return step.value;
      },
      longResponse: (replies, input, _target, context) => verbs.parseResponse(replies, input, context),
      stream: { framing: "sse", reader: (input, _target, context) => verbs.parseStream(input, context) },
    },
  },
  parseError: upstreamError,
};
