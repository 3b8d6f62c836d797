/** Texts as vectors: one text, or several at once. */
import type { EmbedRequest, EmbedResponse, Vector } from "../../src/canonical/embed.ts";
import { extraOf } from "../../src/canonical/extra.ts";
import { present } from "../../src/canonical/json.ts";
import type { WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { sliced } from "../../src/util/sliced_work.ts";
import { inOneSpelling } from "./spelling.ts";
import { batchSchema, EMBED_KEYS, type EmbedBody, embedSchema, WIRE } from "./wire.ts";

export function parseEmbed({ body, params }: WireRequest): EmbedRequest {
  return parse([validate(embedSchema, inOneSpelling(body))], params.id, () => "content");
}

export function parseBatch({ body, params }: WireRequest): EmbedRequest {
  const { requests } = validate(batchSchema, inOneSpelling(body));
  return parse(requests, params.id, (index) => `requests[${index}].content`);
}

/** All of them are asked for at once, so they must want the same. */
function parse(requests: readonly EmbedBody[], model = "", placeOf: (index: number) => string): EmbedRequest {
  const [first] = requests;
  const dimensions = first?.outputDimensionality;
  const other = requests.findIndex(({ outputDimensionality }) => (outputDimensionality ?? 0) !== (dimensions ?? 0));
  if (other > 0) throw invalid(`requests[${other}].outputDimensionality`, "expected the same for all requests");
  const fields = Object.assign({}, ...requests.map((request) => extraOf(WIRE, request, EMBED_KEYS)?.fields));
  return {
    model,
    input: requests.map((request, index) => inputText(request, placeOf(index))),
    encoding: "float",
    ...present("dimensions", dimensions),
    ...(Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } }),
  };
}

function inputText({ content: { parts } }: EmbedBody, place: string): string {
  const texts = parts.map(({ text }, index) => {
    if (typeof text === "string") return text;
    throw invalid(`${place}.parts[${index}]`, "only texts can be embedded");
  });
  const text = texts.join("");
  if (text === "") throw invalid(place, "expected a text that is not empty");
  return text;
}

function invalid(param: string, why: string): GatewayError {
  return new GatewayError("invalid_request", `Invalid value at "${param}": ${why}`, { param });
}

export function serializeEmbed({ vectors: [vector = []] }: EmbedResponse): Response {
  return Response.json({ embedding: { values: [...vector] } });
}

/** Fewer numbers are written at once. From this many on, each vector is written when the client reads it. */
const LONG = 50_000;

export function serializeBatch({ vectors }: EmbedResponse): Response {
  const pieces = piecesOf(vectors);
  const isLong = vectors.length * (vectors[0]?.length ?? 0) >= LONG;
  const body = isLong ? ReadableStream.from(sliced(pieces)).pipeThrough(new TextEncoderStream()) : [...pieces].join("");
  return new Response(body, { headers: { "content-type": "application/json" } });
}

function* piecesOf(vectors: readonly Vector[]): Generator<string> {
  yield '{"embeddings":[';
  for (const [index, vector] of vectors.entries()) {
    yield (index > 0 ? "," : "") + JSON.stringify({ values: [...vector] });
  }
  yield "]}";
}
