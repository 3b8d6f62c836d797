/** The gateway's description of its API, in the form of OpenAPI 3.1. It names no model, no upstream and no key. */
import type { AnyProtocol } from "../../contract/protocol.ts";
import { type Parts, pathsOf } from "./endpoints.ts";
import { Errors } from "./errors.ts";
import { HEADERS, PARAMETERS } from "./headers.ts";
import type { Document } from "./json.ts";
import { ownPaths } from "./own.ts";
import { Schemas } from "./schemas.ts";

export interface DocumentFacts {
  title: string;
  version: string;
  protocols: readonly AnyProtocol[];
  /** The protocol of errors for paths that belong to no protocol. */
  fallback: AnyProtocol;
}

const DESCRIPTION =
  `One gateway for open models and clients of several APIs. Each lane, \`/{lane}\`, has its own models.

Each API reaches all models. The header \`x-laneway-notes\` reports what an API or a model cannot express. Errors have the
shape of the API that is asked. A streamed answer that fails after its beginning ends with an error event.`;

/** Creates the description. It takes some tens of milliseconds, and others run in between. */
export async function describeApi({ title, version, protocols, fallback }: DocumentFacts): Promise<Document> {
  const schemas = new Schemas();
  const parts: Parts = { schemas, errors: new Errors(schemas, protocols), headers: { ...HEADERS } };
  const paths = { ...await pathsOf(protocols, parts), ...await ownPaths(fallback, parts) };
  const wires = [...new Set(protocols.map(({ wire }) => wire))];
  return {
    openapi: "3.1.1",
    info: { title, version, summary: "A gateway for open models.", description: DESCRIPTION },
    servers: [{ url: "/" }],
    // The empty entry: without configured keys, callers on the gateway's own machine need none.
    security: [{ bearer: [] }, { apiKey: [] }, {}],
    tags: [
      ...wires.map((name) => ({ name, description: `The endpoints of the API "${name}".` })),
      { name: "gateway", description: "The gateway itself." },
    ],
    paths,
    components: {
      schemas: schemas.all,
      responses: parts.errors.all,
      headers: parts.headers,
      parameters: PARAMETERS,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A key of the gateway." },
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "x-api-key",
          description: "The same key; it wins if both are present.",
        },
      },
    },
  };
}
