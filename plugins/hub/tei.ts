/**
 * Text Embeddings Inference, by its native routes. It runs most of the hub's models for vectors and rankings, so the drivers of
 * the hub's own routes for them read its options and answers too.
 */
import { z } from "zod";
import {
  batchesOf,
  checkVectors,
  depthOf,
  type EmbedRequest,
  type EmbedResponse,
  poolTokens,
  usageOfInputs,
  type Vector,
} from "../../src/canonical/embed.ts";
import { type Extra, fieldsFor } from "../../src/canonical/extra.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import {
  pairsOf,
  rank,
  type RankedDocument,
  type RerankRequest,
  type RerankResponse,
} from "../../src/canonical/rerank.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Driver, Target } from "../../src/contract/driver.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamError } from "../shared/errors.ts";
import { refuseFailure } from "./failure.ts";
export const teiDriver: Driver = {
  name: "tei",
  wire: "tei",
  operations: {
    embed: {
      request: (input, target, context) =>
        serializeInputs(input, target, context).map((body) => ({ path: "embed", body })),
      response: parseVectors,
    },
    rerank: {
      request(input, target, context) {
        const options = optionsOf(RANKING_OPTIONS, "rerank", input.extra, context);
        return textsOf(input, target).map((texts) => ({
          path: "rerank",
          body: { query: input.query, texts, ...options },
        }));
      },
      response: parseRanking,
    },
  },
  parseError: upstreamError,
};

/** As many inputs, or documents, as it takes in one call unless it is started with another limit. */
const BATCH = 32;

/** The texts of the documents, as many in one call as it takes: the score of each depends on no other. */
export function textsOf({ documents }: RerankRequest, { batch = BATCH }: Target): string[][] {
  return batchesOf(documents.map(({ text }) => text), batch);
}

const VECTOR_OPTIONS = ["normalize", "truncate", "truncation_direction", "prompt_name"];
const RANKING_OPTIONS = ["truncate", "truncation_direction", "raw_scores"];

/** Those fields that `wire` left over and that are options here; all others are noted. */
export function optionsOf(
  options: readonly string[],
  wire: string,
  extra: Extra | undefined,
  context: Context,
): JsonObject {
  const taken: JsonObject = {};
  for (const [key, value] of Object.entries(fieldsFor(wire, extra, context.note))) {
    if (options.includes(key)) taken[key] = value;
    else context.note(`dropped ${key}`);
  }
  return taken;
}

/** The bodies of the calls. Always with lists, because what a single input is answered with is ambiguous. */
export function serializeInputs(input: EmbedRequest, target: Target, context: Context): JsonObject[] {
  const options = optionsOf(VECTOR_OPTIONS, "embeddings", input.extra, context);
  return batchesOf(input.input, target.batch ?? BATCH).map((inputs) => ({
    inputs,
    ...present("dimensions", input.dimensions),
    ...options,
  }));
}

export function parseVectors(
  replies: readonly Reply[],
  input: EmbedRequest,
  target: Target,
  context: Context,
): EmbedResponse {
  for (const { body } of replies) refuseFailure(body);
  const normalize = input.extra?.fields.normalize !== false;
  const vectors = batchesOf(input.input, target.batch ?? BATCH).flatMap((batch, index) =>
    poolVectors(replies[index]?.body, batch.length, normalize)
  );
  const usage = usageOfInputs(countsOf(replies), input.input, context.note);
  return { vectors: checkVectors(vectors, input), usage };
}

/** The scores are probabilities already, unless the client asked for raw ones. */
export function parseRanking(
  replies: readonly Reply[],
  input: RerankRequest,
  target: Target,
  context: Context,
): RerankResponse {
  for (const { body } of replies) refuseFailure(body);
  const scores = textsOf(input, target).flatMap((texts, batch) => {
    const offset = batch * (target.batch ?? BATCH);
    return parseScores(replies[batch]?.body, texts.length).map(({ index, score }) => ({
      index: offset + index,
      score,
    }));
  });
  const usage = usageOfInputs(countsOf(replies), pairsOf(input), context.note);
  return { results: rank(scores, input.documents.length, target.scores), usage };
}

const scoresSchema = z.array(z.looseObject({ index: z.int().nullish(), score: z.number().nullish() }));

/**
 * A list of `{index, score}`, which may be wrapped once more. Engines that take a ranker for a classifier give one label with
 * its score to each document, in the order of the request and wrapped in as many ways.
 */
function parseScores(body: unknown, count: number): RankedDocument[] {
  const scores = accept(scoresSchema, Array.isArray(body) ? body.flat(2) : body);
  if (!scores) throw new GatewayError("upstream_error", "The upstream's answer is not a ranking");
  if (scores.length !== count) {
    throw new GatewayError("upstream_error", `The upstream returned ${scores.length} scores for ${count} documents`);
  }
  return scores.map(({ index, score }, position) => ({ index: index ?? position, score: score ?? NaN }));
}

/** The hub's router may leave the header out. */
function countsOf(replies: readonly Reply[]): number[] {
  return replies.map(({ headers }) => Number(headers.get("x-compute-tokens")));
}

/**
 * One vector for each of `count` inputs. Models with a pooling head give that; the others give a vector for each token, which
 * are pooled here: `[tokens][d]` for a single input, `[count][tokens][d]`, or `[count][1][tokens][d]`. Inputs differ in their
 * number of tokens. Whether the numbers are numbers, `checkVectors` finds out.
 */
export function poolVectors(answer: unknown, count: number, normalize: boolean): Vector[] {
  const depth = depthOf(answer);
  if (Array.isArray(answer)) {
    if (depth === 1 && count === 1) return [answer];
    if (depth === 2 && answer.length === count) return answer;
    if (depth === 2 && count === 1) return [poolTokens(answer, normalize)];
    if (depth > 2 && answer.length === count) return answer.map((item) => poolTokens(item, normalize));
  }
  const shape = depth === 0 ? "no list" : `a list of ${depth} dimensions`;
  throw new GatewayError(
    "upstream_error",
    `The upstream answered ${count} inputs with ${shape}, not with their vectors`,
  );
}
