/** What has to hold in a simulated world. */
import type { LogEntry } from "../../src/observe/log.ts";
import { picoDollars } from "../../src/util/dollars.ts";
import { assertChatStream, assertError } from "../support/answer_shapes.ts";
import type { Got } from "../support/continued_answers.ts";
import { assertMessagesStream } from "../support/messages_grammar.ts";
import { assertResponsesStream } from "../support/responses_grammar.ts";
import { gotOf, type Received } from "./client.ts";
import type { Call, Network } from "./network.ts";
import { BEFORE, type Schedule, type Step } from "./schedule.ts";

/** Something that does not hold: which law, and what was seen. */
export class Violation extends Error {
  readonly law: string;

  constructor(law: string, message: string, cause?: unknown) {
    super(`${law}: ${message}`, { cause });
    this.law = law;
  }
}

/** All that a world knows of one request. */
export interface Story {
  step: Step;
  received: Received;
  calls: Call[];
  entry?: LogEntry;
}

/** Holds at every moment. */
export function checkMoment({ upstreams }: Schedule, network: Network): void {
  for (const [at, { running }] of upstreams.entries()) {
    if (running === undefined) continue;
    const count = network.running(at);
    if (count > running) throw new Violation("concurrency", `up${at} gets ${count} calls at once, not ${running}`);
  }
}

/** Holds for a request that is over. */
export function checkStory(story: Story, schedule: Schedule): void {
  const { received, step } = story;
  if (received.hasLeft) return checkBill(story, schedule);
  if (received.failure !== undefined) throw new Violation("ending", `the connection broke: ${received.failure}`);
  checkGrammar(received);
  const got = gotOf(received);
  const said = saidBy(step);
  if (got.ends + got.errors !== 1) {
    throw new Violation("ending", `${got.ends} ends and ${got.errors} errors in ${JSON.stringify(received.text)}`);
  }
  if (got.ends === 1) same(got, said);
  else begins(got, said);
  const must = mustBeAnswered(story, schedule);
  if (got.ends === 0 && must) {
    throw new Violation("answer", `${must}, and yet: ${received.status} ${received.text.slice(-400)}`);
  }
  if (story.entry?.error === "internal") {
    throw new Violation("internal", `status ${received.status}: ${story.entry.cause}`);
  }
  if (got.ends === 0 && received.status !== 200) checkStatus(story);
  checkBill(story, schedule);
}

interface Said {
  text: string;
  reasoning: string;
  calls: { name: string; input: string }[];
}

function saidBy({ says }: Step): Said {
  const said: Said = { text: "", reasoning: "", calls: [] };
  for (const one of says) {
    if ("text" in one) said.text += one.text;
    else if ("reasoning" in one) said.reasoning += one.reasoning;
    else said.calls.push({ name: one.call, input: one.input });
  }
  return said;
}

const asRead = (calls: Said["calls"]) =>
  calls.map(({ name, input }) => [name, JSON.stringify(JSON.parse(input || "{}"))]);

function same(got: Got, said: Said): void {
  const seen = [got.text, got.reasoning, asRead(got.calls)];
  const wanted = [said.text, said.reasoning, asRead(said.calls)];
  if (JSON.stringify(seen) !== JSON.stringify(wanted)) {
    throw new Violation("text", `got ${JSON.stringify(seen)} for ${JSON.stringify(wanted)}`);
  }
}

function begins(got: Got, said: Said): void {
  for (const kind of ["text", "reasoning"] as const) {
    if (!said[kind].startsWith(got[kind])) {
      throw new Violation(
        "text",
        `got ${JSON.stringify(got[kind])} for the beginning of ${JSON.stringify(said[kind])}`,
      );
    }
  }
  for (const [at, { name, input }] of got.calls.entries()) {
    const whole = said.calls[at];
    const isBeginning = whole?.name === name && (whole.input.startsWith(input) || isSameJson(whole.input, input));
    if (!isBeginning) throw new Violation("text", `got the call ${name}(${input}) for ${JSON.stringify(whole)}`);
  }
}

function isSameJson(one: string, other: string): boolean {
  try {
    return JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));
  } catch {
    return false;
  }
}

/** The wire's own grammar, by the checkers of the laws. */
function checkGrammar({ ask: { client, stream }, text, status, headers }: Received): void {
  try {
    if (status !== 200) {
      if (client !== "ollama") assertError(client, JSON.parse(text));
      else if (typeof JSON.parse(text).error !== "string") throw new Error(`no error: ${text}`);
      return;
    }
    if (!stream) return;
    const type = headers?.get("content-type") ?? "";
    if (client === "ollama" || client === "gemini") {
      for (const line of text.split("\n")) {
        const json = line.startsWith("data: ") ? line.slice(6) : line;
        if (json.trim() !== "" && !json.startsWith(":")) JSON.parse(json);
      }
      return;
    }
    if (!type.startsWith("text/event-stream")) throw new Error(`a stream of type ${type}`);
    const frames = framesIn(text);
    if (client === "chat") assertChatStream(frames);
    else if (client === "messages") {
      assertMessagesStream(frames.filter(({ event }) => event !== "ping"), { hostile: true });
    } else assertResponsesStream(frames);
  } catch (cause) {
    throw new Violation("grammar", `${client}: ${(cause as Error).message}\n${text}`, cause);
  }
}

function framesIn(text: string): { event?: string; data?: string }[] {
  return text.split("\n\n").filter((block) => block !== "" && !block.startsWith(":")).map((block) => {
    const frame: { event?: string; data?: string } = {};
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) frame.event = line.slice("event: ".length);
      else if (line.startsWith("data: ")) frame.data = line.slice("data: ".length);
      else if (!line.startsWith(":")) throw new Error(`no line of a stream: ${line}`);
    }
    return frame;
  });
}

/** Why the client has to get its answer, if it has to. */
function mustBeAnswered({ step, calls }: Story, { upstreams, settings }: Schedule): string | undefined {
  if (settings.budget !== undefined || upstreams.some(({ running }) => running !== undefined)) return undefined;
  const met = calls.flatMap(({ fault, state }) => fault && state !== "complete" ? [fault] : []);
  if (met.length === 0) return "no call of it failed";
  const [first, ...others] = met;
  const isBefore = BEFORE.includes(first!.kind) || first!.after === 0 || !step.stream;
  if (others.length === 0 && isBefore && upstreams.length > 1) {
    return `only one call failed, ${first!.kind}, and there are more upstreams`;
  }
  return undefined;
}

function checkStatus({ received: { status, text }, calls }: Story): void {
  if ([402, 429, 500, 502, 503, 504, 529].includes(status!)) {
    if (status === 500 && calls.length === 0) throw new Violation("status", `${status} ${text}`);
    return;
  }
  throw new Violation("status", `${status} ${text}`);
}

/** What was billed is what upstreams served, or is said to be an estimate. */
function checkBill({ entry, calls, received }: Story, { upstreams }: Schedule): void {
  if (!entry) throw new Violation("log", `no line for the request, whose status is ${received.status}`);
  const billed = picoDollars(entry.cost ?? "0")!;
  let known = 0n;
  let most = 0n;
  let unknown = 0;
  for (const { upstream, told, state, frames, body } of calls) {
    const [input, output] = upstreams[upstream]!.price.map((price) => BigInt(Math.round(price * 100)) * 10_000n);
    const isCertain = told && (state === "complete" || !received.hasLeft) && state !== "left";
    if (isCertain) known += BigInt(told.input) * input! + BigInt(told.output) * output!;
    else if (state === "refused") continue;
    else {
      unknown++;
      const length = JSON.stringify(body).length + 100;
      most += BigInt(length) * input! + BigInt(frames * 200 + 100) * output!;
    }
  }
  const isRight = unknown === 0 ? billed === known : billed >= known && billed <= known + most;
  if (!isRight) {
    throw new Violation("bill", `billed ${billed} for ${known} and ${unknown} unknown calls, ${most} at most`);
  }
  if (unknown > 0 && billed > known && !entry.costEstimated) {
    throw new Violation("bill", "an estimate is not said to be one");
  }
}
