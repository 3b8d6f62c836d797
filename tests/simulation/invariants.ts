/** What has to hold in a simulated world. */
import type { LogEntry } from "../../src/observe/log.ts";
import { picoDollars } from "../../src/util/dollars.ts";
import { assertChatStream, assertError } from "../support/answer_shapes.ts";
import type { Got } from "../support/continued_answers.ts";
import { assertMessagesStream } from "../support/messages_grammar.ts";
import { assertResponsesStream } from "../support/responses_grammar.ts";
import { gotOf, type Received, storedId } from "./client.ts";
import type { Call, Network } from "./network.ts";
import { type Ask, BEFORE, type Fault, type Schedule, TIMEOUTS } from "./schedule.ts";

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
  received: Received;
  calls: Call[];
  /** Its lines of the log. */
  entries: LogEntry[];
}

/** All that a world knows besides. */
export interface Facts {
  schedule: Schedule;
  /** Whether calls of the database went wrong. */
  isTroubled: boolean;
  hasCrashed: boolean;
  received: Received[];
  entries: LogEntry[];
  calls: readonly Call[];
}

/** The processes of a world. */
export interface Processes {
  /** Whether there is one at each place, and has always been. */
  isAlone: boolean;
  /** How many there have been. */
  processes: number;
  isTroubled: boolean;
}

/** Holds at every moment. */
export function checkMoment({ upstreams, settings, steps, gateways }: Schedule, network: Network, at: Processes): void {
  const isShared = settings.store === "redis";
  // Gateways that share no server count by themselves.
  if (!isShared && !at.isAlone) return;
  const most = (limit: number) => isShared ? mostTogether(limit, gateways, at) : limit * gateways;
  for (const [at, { running }] of upstreams.entries()) {
    if (running === undefined) continue;
    const count = network.running(at);
    if (count > most(running)) {
      throw new Violation("concurrency", `up${at} gets ${count} calls at once, not ${running}`);
    }
  }
  const { concurrentRequests } = settings;
  if (concurrentRequests === undefined) return;
  for (const key of ["anna", "bert"]) {
    const own = new Set(steps.flatMap((step) => step.type === "ask" && step.key === key ? [step.id] : []));
    const asks = new Set(network.open().map(({ ask }) => ask).filter((ask) => own.has(ask)));
    if (asks.size > most(concurrentRequests)) throw new Violation("quota", `${key} runs ${asks.size} requests at once`);
  }
}

/** How many may run on all gateways together. While their server is silent, each counts alone, and takes a share of its own. */
function mostTogether(limit: number, gateways: number, { processes, isTroubled }: Processes): number {
  return isTroubled ? limit + processes * Math.max(1, Math.floor(limit / gateways)) : limit;
}

/** Each key is served as many requests in any time as its limit for a minute allows, on all gateways together if they count so. */
export function checkRates(
  { schedule, received, calls }: Facts,
  { processes, isTroubled }: Processes,
): void {
  const { settings: { requestsPerMinute, store }, gateways } = schedule;
  if (requestsPerMinute === undefined) return;
  const isShared = store === "redis";
  const shared = requestsPerMinute * (isShared ? 1 : processes);
  // While their server is silent, each assumes that the others take as many as it does. It serves one in any case: otherwise a key
  // with fewer requests a minute than there are gateways would get none.
  const each = requestsPerMinute / gateways;
  const [atOnce, aMinute] = isShared && isTroubled ? [processes * Math.max(1, each), processes * each] : [0, 0];
  for (const key of ["anna", "bert"]) {
    const admitted = received.flatMap(({ ask, beganAt }) => {
      const until = calls.find((call) => call.ask === ask.id)?.at;
      return ask.key === key && until !== undefined ? [{ beganAt, until }] : [];
    });
    for (const { beganAt: from } of admitted) {
      for (const { until } of admitted) {
        const count = admitted.filter((one) => one.beganAt >= from && one.until <= until).length;
        const minutes = Math.max(0, until - from) / 60_000;
        const allowed = shared * (1 + minutes) + atOnce + aMinute * minutes;
        if (count > allowed + 0.001) throw new Violation("rate", `${key} began ${count} from ${from} to ${until}`);
      }
    }
  }
}

/** Holds for a request that is over. */
export function checkStory(story: Story, facts: Facts): void {
  const { received, entries } = story;
  if (received.isLost) return;
  // A client that left before the head does not know which lines are its own.
  if (received.hasLeft) return entries.length > 0 ? checkBill(story, facts.schedule) : undefined;
  if (received.failure !== undefined) {
    if (received.ask.isBackground && (facts.isTroubled || facts.hasCrashed)) return;
    throw new Violation("ending", `the connection broke: ${received.failure}`);
  }
  checkGrammar(received);
  const got = gotOf(received);
  const said = saidBy(received.ask, story.calls);
  if (got.ends + got.errors !== 1) {
    throw new Violation("ending", `${got.ends} ends and ${got.errors} errors in ${JSON.stringify(received.text)}`);
  }
  const { previous, ask } = received;
  if (previous && previous.of.key !== ask.key) return checkStranger(received, facts);
  if (got.ends === 1 && !mayEndEarly(ask, facts)) same(got, said);
  else begins(got, said);
  const internal = entries.find(({ error }) => error === "internal");
  if (internal) throw new Violation("internal", `status ${received.status}: ${internal.cause}`);
  if (got.ends === 0) checkFailure(story, facts);
  checkHistory(story, facts);
  const tooOften = entries.find(({ continued = 0 }) => continued > 2);
  if (tooOften) throw new Violation("continuation", `it went on ${tooOften.continued} times`);
  if (story.calls.length > 12) throw new Violation("calls", `it took ${story.calls.length} calls of upstreams`);
  if (ask.socket === undefined) checkBill(story, facts.schedule);
}

/** Rounds that use up a budget end an answer early. */
export function mayEndEarly({ rounds }: Ask, { schedule: { settings } }: Pick<Facts, "schedule">): boolean {
  return rounds !== undefined && settings.budget !== undefined;
}

/** Messages do not say which lines of the log are theirs: all of them together cost what their upstreams served. */
export function checkMessages({ schedule, received, calls, entries, hasCrashed }: Facts): void {
  const messages = received.filter(({ ask }) => ask.socket !== undefined);
  if (messages.length === 0 || hasCrashed || received.some(({ isLost }) => isLost)) return;
  const others = new Set(received.flatMap(({ headers }) => headers?.get("x-request-id") ?? []));
  const nameless = received.filter(({ ask, headers }) => ask.socket !== undefined || !headers?.has("x-request-id"));
  const asks = new Set(nameless.map(({ ask }) => ask.id));
  const all = {
    received: { ...messages[0]!, hasLeft: nameless.some(({ hasLeft }) => hasLeft) },
    calls: calls.filter(({ ask }) => asks.has(ask)),
    entries: entries.filter(({ id }) => !others.has(id!)),
  };
  checkBill(all, schedule);
}

/** A continued conversation is sent whole. */
function checkHistory({ received: { previous, conversation }, calls }: Story, facts: Facts): void {
  for (const before of [...previous ? [previous.of] : [], ...conversation?.before ?? []]) {
    const { texts } = saidBy(before, facts.calls.filter(({ ask }) => ask === before.id));
    checkSent(before, texts, calls);
  }
}

function checkSent(before: Ask, texts: readonly string[], calls: readonly Call[]): void {
  for (const { body } of calls) {
    const sent = JSON.stringify(body.messages ?? body.input);
    const isIn = (text: string) => sent.includes(JSON.stringify(text.trim()).slice(1, -1));
    if (!isIn(`#${before.id} Hello`) || !texts.every(isIn)) {
      throw new Violation("recall", `the turn of ${before.id} is not in ${sent}`);
    }
  }
}

/** Whose response another key made does not find it. */
function checkStranger({ status, text }: Received, { isTroubled }: Facts): void {
  const isRight = (status === 400 && text.includes("previous_response_not_found")) ||
    (status === 404 && text.includes("thread_not_found")) || status === 429 || (status === 529 && isTroubled) ||
    (status === 503 && isTroubled);
  if (!isRight) throw new Violation("recall", `another key's response: ${status} ${text}`);
}

function checkFailure(story: Story, facts: Facts): void {
  const { received } = story;
  const { status, text } = received;
  const refusal = /"error_code":"(thread_\w+)"/.exec(text)?.[1];
  if (refusal) return checkThreadRefusal(received, refusal, facts);
  if (isRefusedAtEnd(story, facts)) return;
  const must = mustBeAnswered(story, facts);
  if (must) throw new Violation("answer", `${must}, and yet: ${status} ${text.slice(-400)}`);
  if (status !== 200) checkStatus(story, facts);
  if (status === 402) checkRefusal(story, facts);
}

/** An answer can be continued unless another request has done so, or is doing it. */
function checkThreadRefusal(received: Received, code: string, { isTroubled, received: all }: Facts): void {
  const { previous, beganAt, endedAt } = received;
  const rivals = all.filter((other) =>
    other !== received && other.previous?.id === previous?.id && other.beganAt <= endedAt!
  );
  // The gateway may see the end of what its client has left, or lost, later.
  const isUnknown = ({ hasLeft, isLost }: Received) => hasLeft || isLost;
  const isRight = isTroubled || {
    thread_already_continued: rivals.some((one) => isUnknown(one) || storedId(one) !== undefined),
    thread_continue_in_flight: rivals.some((one) =>
      isUnknown(one) || (one.endedAt ?? Infinity) + RELEASE_MS >= beganAt
    ),
  }[code];
  if (!isRight) throw new Violation("thread", `${code} after ${rivals.length} others`);
}

/** How long a gateway may take to give an answer free again, in milliseconds. */
const RELEASE_MS = 1_000;

/** Each answer of a thread is continued once. */
export function checkThreads({ received }: Pick<Facts, "received">): void {
  const continued = new Map<string, number>();
  for (const one of received) {
    if (!one.ask.isThread || !one.previous || storedId(one) === undefined) continue;
    const { id } = one.previous;
    const before = continued.get(id);
    if (before !== undefined) throw new Violation("thread", `${id} was continued by ${before} and by ${one.ask.id}`);
    continued.set(id, one.ask.id);
  }
}

/** Who is alone and has enough of the budget left is not refused. */
function checkRefusal(
  { received, calls }: Story,
  { schedule, isTroubled, hasCrashed, received: all, entries }: Facts,
): void {
  const { settings: { budget, isDaily }, gateways, upstreams, steps } = schedule;
  if (isTroubled || hasCrashed || isDaily || gateways > 1 || calls.length > 0) return;
  if (steps.some(({ type }) => type !== "ask")) return;
  const overlaps = all.some((other) =>
    other !== received && other.beganAt <= received.endedAt! && (other.endedAt ?? Infinity) >= received.beganAt - 1_000
  );
  if (overlaps) return;
  const spent = entries.reduce((sum, { cost = "0" }) => sum + picoDollars(cost)!, 0n);
  const dearest = Math.max(...upstreams.flatMap(({ price }) => price));
  const least = BigInt(Math.ceil(dearest * 1e6)) * 1_200n;
  if (picoDollars(budget!)! - spent > least) {
    throw new Violation("budget", `refused although ${picoDollars(budget!)! - spent} of ${budget} are left`);
  }
}

/** What the budget says was spent is what the requests cost, and no more than it allows. */
export function checkBudget(
  usage: { budgets?: { spent: string }[] },
  { schedule, entries, isTroubled, hasCrashed, received, calls }: Facts,
): void {
  const { settings: { budget, isDaily } } = schedule;
  const limit = picoDollars(budget!)! * (isDaily ? 2n : 1n);
  const billed = entries.reduce((sum, { cost = "0" }) => sum + picoDollars(cost)!, 0n);
  // The documents allow an estimate that is too low: prompts have some tokens more than their length tells.
  const dearest = Math.max(...schedule.upstreams.map(({ price: [input] }) => input));
  const excess = BigInt(calls.length) * 10n * BigInt(Math.round(dearest * 1e6));
  if (billed > limit + excess && !hasCrashed) throw new Violation("budget", `${billed} were billed of ${limit}`);
  if (isDaily || hasCrashed || received.some(({ isLost }) => isLost)) return;
  // A gateway that stops does not wait for a store that has failed.
  if (isTroubled && schedule.steps.some(({ type }) => type === "restart")) return;
  const spent = picoDollars(usage.budgets?.[0]?.spent ?? "")!;
  if (spent !== billed) throw new Violation("budget", `${spent} count as spent, but ${billed} were billed`);
}

interface Said {
  text: string;
  texts: string[];
  reasoning: string;
  calls: { name: string; input: string }[];
}

/** What the model says in an answer for which it got these calls. */
export function saidBy({ client, says, rounds = [] }: Ask, calls: readonly Call[]): Said {
  const had = new Set(calls.map(({ round }) => round));
  const before = rounds.filter(({ number }) => had.has(number)).flatMap(({ text }) => text ?? []);
  const texts = [...before, ...says.flatMap((said) => "text" in said ? said.text : [])];
  return {
    texts,
    // This wire has one text for all that the model says.
    text: texts.join(client === "chat" ? "\n\n" : ""),
    reasoning: says.flatMap((said) => "reasoning" in said ? said.reasoning : []).join(""),
    calls: says.flatMap((said) => "call" in said ? [{ name: said.call, input: said.input }] : []),
  };
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

/** A gateway that is about to end begins nothing in the background, which might outlive it: the client asks another one. */
function isRefusedAtEnd({ received, calls }: Story, { schedule: { steps } }: Facts): boolean {
  const { ask, status, text, endedAt } = received;
  return ask.isBackground === true && status === 503 && text.includes("The gateway is shutting down") &&
    calls.length === 0 &&
    steps.some((step) => step.type === "restart" && step.gateway === ask.gateway && step.at <= endedAt!);
}

/** Why the client has to get its answer, if it has to. */
function mustBeAnswered(story: Story, facts: Facts): string | undefined {
  const { received: { ask, beganAt, endedAt = beganAt }, calls } = story;
  const { schedule: { upstreams, settings }, isTroubled } = facts;
  // A client that reads slowly holds its answer up for longer than one may take.
  if (endedAt - beganAt >= TIMEOUTS.totalMs) return undefined;
  const { budget = 50, requestsPerMinute, isLongest } = settings;
  if (isTroubled || budget < 50 || isLongest || requestsPerMinute !== undefined || isBesideOthers(story, facts)) {
    return undefined;
  }
  const met = calls.flatMap(({ fault, state }) => fault && state !== "complete" ? [fault] : []);
  if (met.length === 0) return "no call of it failed";
  const isWhole = !ask.stream && !ask.isBackground;
  const isBefore = ({ kind, after }: Fault) => BEFORE.includes(kind) || after === 0 || isWhole;
  if (met.length === 1 && isBefore(met[0]!) && upstreams.length > 1) {
    return `only one call failed, ${met[0]!.kind}, and there are more upstreams`;
  }
  // Calls of tools do not go on.
  const isText = calls.every(({ fault, round }) => !fault || round === undefined) &&
    ask.says.every((said) => "text" in said);
  const goesOn = isText && settings.continuation !== "off" && upstreams.every(({ prefill }) => prefill);
  if (goesOn && met.length <= 2 && !met.some(isBefore)) {
    return `it broke off ${met.length} times, ${met.map(({ kind }) => kind)}, and each upstream can go on`;
  }
  return undefined;
}

/** Whether other requests may have had the places that it needed. */
function isBesideOthers({ received }: Story, { schedule, received: all }: Facts): boolean {
  const { upstreams, settings } = schedule;
  if (settings.concurrentRequests === undefined && upstreams.every(({ running }) => running === undefined)) {
    return false;
  }
  // The place of a request whose gateway crashed is free once its lease ends.
  const until = ({ endedAt = Infinity, isLost }: Received) => isLost ? endedAt + LEASE_MS : endedAt;
  return all.some((other) =>
    other !== received && other.beganAt <= received.endedAt! && until(other) >= received.beganAt
  );
}

/** Longer than a lease lasts, in milliseconds. */
const LEASE_MS = 30_000;

function checkStatus(
  { received: { status, text }, calls }: Story,
  { schedule: { settings }, isTroubled }: Facts,
): void {
  const met = new Set(calls.map(({ fault }) => fault?.kind));
  const { budget, requestsPerMinute, concurrentRequests } = settings;
  const isLimited = requestsPerMinute !== undefined || concurrentRequests !== undefined;
  const isRight = status === 402
    ? budget !== undefined
    : status === 429
    ? isLimited || met.has("limiting")
    : [502, 503, 504, 529].includes(status!) || (status === 500 && (calls.length > 0 || isTroubled));
  if (!isRight) throw new Violation("status", `${status} ${text}`);
}

/** What was billed is what upstreams served, or is said to be an estimate. */
function checkBill({ entries, calls, received }: Story, { upstreams, settings }: Schedule): void {
  if (entries.length === 0) throw new Violation("log", `no line for the request, whose status is ${received.status}`);
  const billed = entries.reduce((sum, { cost = "0" }) => sum + picoDollars(cost)!, 0n);
  let known = 0n;
  let most = 0n;
  let unknown = 0;
  let doubtful = 0n;
  for (const { upstream, stated, state, frames, body } of calls) {
    const [input, output] = upstreams[upstream]!.price.map((price) => BigInt(Math.round(price * 100)) * 10_000n);
    const cost = stated ? BigInt(stated.input) * input! + BigInt(stated.output) * output! : 0n;
    // The last words may have come after the client has left, or the gateway has lost its patience.
    const isDoubtful = stated && state === "left" && (received.hasLeft || settings.stallContinueMs !== undefined);
    if (stated && !isDoubtful) known += cost;
    else if (state !== "refused") {
      if (isDoubtful) doubtful += cost;
      else unknown++;
      const length = JSON.stringify(body).length + 100;
      most += BigInt(length) * input! + BigInt(frames * 200 + 100) * output!;
    }
  }
  const isRight = unknown === 0 && doubtful === 0n
    ? billed === known
    : billed >= known && billed <= known + doubtful + most;
  if (!isRight) {
    throw new Violation("bill", `billed ${billed} for ${known} and ${unknown} unknown calls, ${most} at most`);
  }
  const isEstimate = entries.some(({ costEstimated }) => costEstimated);
  if (unknown > 0 && billed > known + doubtful && !isEstimate) {
    throw new Violation("bill", "an estimate is not said to be one");
  }
}
