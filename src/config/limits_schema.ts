/** The sections of the configuration for limits, budgets and retries. */
import { z } from "zod";
import { DEEPEST_JSON, JSON_LIMITS } from "../canonical/json_limits.ts";
import { milliseconds, object } from "./fields.ts";

export const retrySchema = object("How often a request is tried if its targets fail.", {
  rounds: z.int().min(1).max(10).default(3).meta({
    description:
      "How often each target may be tried if it certainly did not start the request: it was not reached, or " +
      "answered 409, 425, 429, 498, 503 or 529.",
  }),
  failovers: z.int().min(0).max(10).default(1).meta({
    description:
      "How many failures that may have cost something, such as 500, 502, 504, a time-out or a broken connection, are " +
      "followed by a request to another target. The same target never gets it again.",
  }),
  calls: z.int().min(1).max(100).default(12).meta({
    description:
      "How many calls of upstreams one request for a model's answer may cause in total: retries, other targets, " +
      "hedges, repetitions without refused parts, and continuations of answers that broke off.",
  }),
  budgetMs: z.int().min(0).default(5_000).meta({
    description:
      "How long a request may wait for further rounds, in milliseconds. A target that asks for a longer wait is " +
      "not tried again.",
  }),
});

export const stopSchema = object("How the gateway stops when the system asks it to.", {
  noticeMs: milliseconds(
    1_000,
    "How long the gateway keeps accepting requests after SIGTERM, in milliseconds, while /readyz fails, so " +
      "that load balancers notice.",
    0,
  ),
  drainMs: milliseconds(
    25_000,
    "How long running requests may then take to finish, in milliseconds. Then they are aborted.",
    0,
  ),
});

export const PERIODS = ["day", "week", "month", "total"] as const;

export const budgetSchema = object("How much may be spent, in US dollars.", {
  dollars: z.number().min(0).max(10_000_000).multipleOf(0.000001, "Expected dollars with six decimals at most").meta({
    description: "The most that may be spent per period. With 0, only free requests are served.",
  }),
  period: z.enum(PERIODS).meta({
    description:
      "The period. Periods begin at midnight UTC, weeks on Monday, months on their first day. A total budget " +
      "never resets.",
  }),
  warnAt: z.number().gt(0).max(1).optional().meta({
    description: "The part of the budget at which the log gets a warning, once per period: 0.8 is four fifths.",
  }),
  unpriced: z.enum(["refuse", "allow"]).optional().meta({
    description: "What happens to a request to a target without a price. By default it is refused.",
  }),
});

export const limitsSchema = object("Limits on what clients send and upstreams answer.", {
  headerBytes: z.int().min(1_024).max(65_536).default(32_768).meta({
    description: "Bytes of a request's headers. Longer ones get 431.",
  }),
  bodyBytes: z.int().min(1).default(31_457_280).meta({
    description:
      "Bytes of a request body, both compressed and decompressed. Longer ones get 413, and so do bodies over 4 MiB " +
      "that are more than 1,000 times their compressed size.",
  }),
  bodyMs: milliseconds(60_000, "How long a client may take to send a body, in milliseconds. Then it gets 408."),
  uploadMs: milliseconds(
    300_000,
    "How long a client may take to send a form with a file, in milliseconds: 25 MB take minutes over a slow line.",
  ),
  stallMs: milliseconds(
    30_000,
    "How long a client may pause while it sends a body, in milliseconds. A small body (16 kB) must be " +
      "complete within this time.",
  ),
  sendStallMs: milliseconds(
    60_000,
    "How long a client may stop reading a streamed answer, in milliseconds. Then the answer ends and frees " +
      "its slot. What is in the system's buffers (some MB) counts as read.",
  ),
  jsonDepth: z.int().min(10).max(DEEPEST_JSON).default(DEEPEST_JSON).meta({
    description: "How deep arrays and objects may be nested, in a request, an answer or an event of a stream.",
  }),
  jsonValues: z.int().min(1).default(JSON_LIMITS.values).meta({
    description: "Objects, arrays, strings, field names, booleans and nulls in a request, an answer or an event of a " +
      "stream, and again in all its tool arguments together. Numbers have their own limit.",
  }),
  jsonNumbers: z.int().min(1).default(JSON_LIMITS.numbers).meta({
    description:
      "Numbers, counted in the same places, such as the tokens of texts to embed. Embeddings in an answer do not " +
      "count.",
  }),
  jsonNames: z.int().min(1).default(JSON_LIMITS.names).meta({
    description: "Distinct field names, counted in the same places.",
  }),
  messages: z.int().min(1).default(40_000).meta({ description: "Turns in a conversation." }),
  parts: z.int().min(1).default(40_000).meta({ description: "Content parts in a conversation." }),
  tools: z.int().min(1).default(4_096).meta({ description: "Tools in a request." }),
  imagePixels: z.int().min(1).default(16_777_216).meta({
    description: "Pixels of a picture that a model is to draw: by default 4,096 x 4,096.",
  }),
  concurrentRequests: z.int().min(1).default(2_000).meta({
    description: "Concurrent requests that run a model, of all callers. Further ones get 503.",
  }),
  concurrentCompletions: z.int().min(1).optional().meta({
    description:
      "Concurrent requests for completions, of all callers, which are counted apart. Further ones get 503. By default as " +
      "many as concurrentRequests.",
  }),
  memoryBytes: z.int().min(1).optional().meta({
    description:
      "The memory of the gateway above which requests that run a model get 503. By default three quarters of " +
      "the machine's or container's memory, but no more than the engine's own limit (about 4 GB), and no less " +
      "than 112 MiB.",
  }),
  answerBytes: z.int().min(1).default(50_331_648).meta({
    description:
      "Bytes of an upstream's answer that is read whole: 2,048 vectors of 4,096 numbers fit as base64. A longer " +
      "one is an upstream error.",
  }),
  answerText: z.int().min(1).default(8_388_608).meta({
    description:
      "Characters that a model writes in one answer, whole or streamed: text, reasoning and tool arguments. " +
      "More is an upstream error.",
  }),
  streamBytes: z.int().min(1).default(268_435_456).meta({
    description: "Bytes of an upstream's answer that is streamed: events or speech. A longer one ends with an error.",
  }),
  frameBytes: z.int().min(1).default(33_554_432).meta({
    description:
      "Length of one line of an upstream's stream in bytes, and of one event in characters. A longer one is an " +
      "upstream error.",
  }),
  sockets: z.int().min(0).optional().meta({
    description:
      "Open WebSockets, of all callers. Further ones get 503. By default as many as messages of bodyBytes fit into half " +
      "of memoryBytes, but no more than 500 and no less than 8.",
  }),
  socketBytes: z.int().min(0).default(67_108_864).meta({
    description:
      "Bytes of the conversations that all WebSockets remember between two requests, and of their latest messages. The " +
      "oldest ones of a caller are forgotten first.",
  }),
  backgroundResponses: z.int().min(0).default(100).meta({
    description: "Concurrent background responses. Further ones get 503; with 0, all of them. If there are several " +
      "callers, each may run three quarters of them; its further ones get 429.",
  }),
  backgroundMs: milliseconds(3_600_000, "How long a background response may take, in milliseconds. Then it fails."),
  backgroundEvents: z.int().min(0).default(67_108_864).meta({
    description:
      "Characters of the events of all streamed background responses. They are kept for clients that reconnect, " +
      "up to ten minutes after the end. Beyond the limit, those of the caller with the most go first.",
  }),
  uploadBytes: z.int().min(1).optional().meta({
    description:
      "Bytes of all bodies, JSON and forms, that are being received or processed. By default 1/16 of memoryBytes, but no " +
      "more than 256 MiB and no less than bodyBytes. Further ones get 503. Small ones, of up to 1 MiB and 1/32 of it, " +
      "have another quarter reserved; JSON of up to 16 kB does not count. Of several callers, each gets up to three quarters, and beyond that 429. If the room is needed, bodies slower " +
      "than 16 kB/s get 408.",
  }),
});
