/** How much of a budget to reserve for an answer, and how long the answer may be for that. */
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { Target } from "../contract/driver.ts";
import type { Price } from "../contract/planned_target.ts";
import { costOfSound, priceOf } from "../observe/cost.ts";
import type { Reserving } from "../state/budget/wanted.ts";
import { limitOf } from "../upstream/call_fields.ts";

/** The longest answer for which is reserved if the request sets no limit, in tokens. It leaves room for thinking. */
const USUAL_ANSWER = 32_768;
/** An answer without a limit of its own is refused if a budget has room for fewer tokens. */
const LEAST_ANSWER = 256;
/** The tokens reserved for the answer to a question, which is a word or two. */
const DECISION = 16;
/** The tokens reserved for a transcript, whose length cannot be limited. */
const TRANSCRIPT = 8_192;
/** The most tokens of a picture, for models that are charged by tokens. */
const PICTURE = 8_192;
/** The fewest and the most bytes of a second of sound in common formats, and the most tokens of a second. */
const SOUND_BYTES = 2_000;
const MOST_SOUND_BYTES = 400_000;
const SOUND_TOKENS = 25;

/** Returns `undefined` if the price is not known. `inputTokens`: estimated. */
export function reservingFor<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  inputTokens: number,
  price: Price,
  target: Pick<Target, "answerRoom" | "defaultMaxTokens">,
): Reserving | undefined {
  const cost = costBy(price);
  switch (operation) {
    case "generate": {
      const { maxOutputTokens, thinking } = input as Input<"generate">;
      return ofAnswers(inputTokens, { limit: maxOutputTokens, thought: thinking?.budgetTokens }, cost, target);
    }
    case "relay": {
      const one = input as Input<"relay">;
      return ofAnswers(inputTokens, { limit: limitOf(one), count: countIn(one.body.n) }, cost, target);
    }
    case "complete": {
      const { maxOutputTokens, prompts, count = 1, bestOf = count } = input as Input<"complete">;
      return ofAnswers(inputTokens, { limit: maxOutputTokens, count: prompts.length * bestOf }, cost, target);
    }
    case "decide": {
      const count = (input as Input<"decide">).questions.length;
      return exactly(
        cost(inputTokens, count * DECISION),
        `${Math.ceil(inputTokens)} tokens of input and ${count} decisions`,
      );
    }
    case "transcribe": {
      const seconds = secondsOf((input as Input<"transcribe">).file.bytes);
      return price.audioMinute === undefined
        ? exactly(cost(seconds * SOUND_TOKENS, TRANSCRIPT), "its sound and its transcript")
        : exactly(costOfSound(seconds, price)?.pico, `${Math.ceil(seconds)} seconds of sound`);
    }
    case "draw": {
      const { count: pictures } = input as Input<"draw">;
      const total = priceOf(
        { inputTokens: most(inputTokens), outputTokens: most(pictures * PICTURE), pictures },
        price,
      );
      return exactly(total, `${Math.ceil(inputTokens)} tokens of input and ${pictures} pictures`);
    }
    default:
      return exactly(cost(inputTokens, 0), `${Math.ceil(inputTokens)} tokens of input`);
  }
}

type CostOf = (sent: number, received: number) => bigint | undefined;

interface Answers {
  /** The tokens that the request allows each answer. */
  limit?: number;
  /** The tokens of each answer that the request sets aside for thinking. */
  thought?: number;
  count?: number;
}

function ofAnswers(
  sent: number,
  { limit, thought = 0, count = 1 }: Answers,
  cost: CostOf,
  { answerRoom = Infinity, defaultMaxTokens = Infinity }: Pick<Target, "answerRoom" | "defaultMaxTokens">,
): Reserving | undefined {
  const read = `${Math.ceil(sent)} tokens of input`;
  if (limit !== undefined) {
    return exactly(cost(sent, limit * count), `${read} and ${limit * count} of answer, as the request allows`);
  }
  const [nothing, million, base] = [cost(0, 0), cost(0, 1_000_000), cost(sent, 0)];
  if (nothing === undefined || million === undefined || base === undefined) return undefined;
  const perMillion = (million - nothing) * BigInt(Math.ceil(count));
  if (perMillion === 0n) return exactly(base, read);
  const longest = Math.floor(Math.min(USUAL_ANSWER + thought, answerRoom, defaultMaxTokens));
  const shortest = Math.min(Math.ceil(LEAST_ANSWER + thought), longest);
  const costOf = (tokens: number) => base + perMillion * BigInt(tokens) / 1_000_000n;
  return {
    most: costOf(longest),
    least: costOf(shortest),
    why: `${read} and at least ${shortest * count} of answer`,
    // The division rounds down, and must not take a token from an answer for which all was reserved.
    limitFor: (amount) => Math.min(longest, Math.max(shortest, Number((amount - base) * 1_000_000n / perMillion))),
  };
}

function exactly(amount: bigint | undefined, why: string): Reserving | undefined {
  return amount === undefined ? undefined : { most: amount, least: amount, why };
}

/** The cost of tokens at the price of the dearest kind: written to the cache, or reasoning. */
function costBy(price: Price): CostOf {
  const { input: read = 0, cacheWrite = 0, output = 0, reasoning = 0 } = price;
  const dearest: Price = {
    ...price,
    ...(price.input !== undefined && { input: Math.max(read, cacheWrite) }),
    ...(price.output !== undefined && { output: Math.max(output, reasoning) }),
    cacheWrite: undefined,
    reasoning: undefined,
  };
  return (sent, received) => priceOf({ inputTokens: most(sent), outputTokens: most(received) }, dearest);
}

function most(tokens: number): number {
  return Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER);
}

function countIn(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}

/** The greatest possible length of a recording, in seconds. An uncompressed one states its bytes per second. */
function secondsOf(bytes: Uint8Array): number {
  const isWave = bytes.length > 44 && String.fromCharCode(...bytes.subarray(0, 4)) === "RIFF";
  const rate = isWave ? new DataView(bytes.buffer, bytes.byteOffset).getUint32(28, true) : SOUND_BYTES;
  return bytes.length / Math.min(Math.max(rate, SOUND_BYTES), MOST_SOUND_BYTES);
}
