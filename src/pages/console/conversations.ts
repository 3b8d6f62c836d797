/** The conversations of agents: a list, the turns of one, and the content of a turn if it is recorded. */
import type { GenerateRequest } from "../../canonical/generate.ts";
import type { Capture } from "../../context/capture.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { GatewayError } from "../../errors.ts";
import { cacheFindings } from "../../observe/cache_misses.ts";
import { runSliced, type SlicedWork, yieldToEventLoop } from "../../util/sliced_work.ts";
import { hiderOf } from "./masked_text.ts";
import { recordOf } from "./records.ts";
import { changesBetween, compositionOf, newMessages, shortened } from "./turn_changes.ts";
import { answerOf, attempted, type Parsed, parseRecorded } from "./understood.ts";

/** The conversations, the latest first. */
export async function conversations(
  { gateway: { observe: { conversations, captures }, clocks: { now }, hide } }: RequestContext,
): Promise<Response> {
  const all = await conversations?.all();
  const view = {
    now: now(),
    isKept: conversations !== undefined,
    isRecorded: captures !== undefined,
    data: all?.all() ?? [],
  };
  return new Response(hide(JSON.stringify(view)), { headers: { "content-type": "application/json" } });
}

/** `?id=`, also that of one of its requests: one conversation with its turns, and which of them missed the cache. */
export async function conversation(
  { gateway: { observe: { conversations, captures }, hide }, url }: RequestContext,
): Promise<Response> {
  const found = (await conversations?.all())?.of(url!.searchParams.get("id") ?? "");
  if (!found) {
    throw new GatewayError("not_found", "The session is not kept here: it was dropped, or another process has it");
  }
  const findings = cacheFindings(found.turns);
  const view = {
    ...found.conversation,
    data: found.turns.map((one) => ({
      ...one,
      cache: findings.get(one.id),
      isRecorded: captures?.loaded?.of(one.id) !== undefined,
    })),
  };
  return new Response(hide(JSON.stringify(view)), { headers: { "content-type": "application/json" } });
}

/**
 * `?id=`: the messages that a recorded turn added, and its answer. `?before=`: the turn before, with which it is compared if that
 * is recorded, too.
 */
export async function turn(context: RequestContext): Promise<Response> {
  const one = recordOf(context);
  const { gateway, signal, url } = context;
  const hide = await runSliced(hiderOf(one), signal);
  const before = gateway.observe.captures?.loaded?.of(url!.searchParams.get("before") ?? "");
  const parsed = await attempted(() => parseRecorded(one, gateway));
  const read = await attempted(() => conversationIn(parsed.value));
  // Each of the two may be large.
  await yieldToEventLoop();
  const earlier = before && (await attempted(() => conversationIn(parseRecorded(before, gateway)))).value;
  const input = read.value;
  const changes = input && earlier && await runSliced(changesBetween(earlier, input), signal);
  const view = {
    id: one.id,
    problem: parsed.problem ?? read.problem,
    ...(input && {
      total: input.messages.length,
      ...await runSliced(contentOf(input, changes?.same, earlier), signal),
      composition: await runSliced(compositionOf(input), signal),
      changes,
    }),
    answers: await answersIn(one, parsed.value, gateway),
  };
  return new Response(await runSliced(hide(JSON.stringify(view)), signal), {
    headers: { "content-type": "application/json" },
  });
}

/** Throws `invalid_request` if it is none. */
function conversationIn(parsed: Parsed | undefined): GenerateRequest | undefined {
  if (!parsed || "messages" in parsed.input) return parsed?.input as GenerateRequest | undefined;
  throw new GatewayError("invalid_request", "This request is no conversation");
}

function* contentOf(
  input: GenerateRequest,
  same: number | undefined,
  earlier: GenerateRequest | undefined,
): SlicedWork<object> {
  const { from, messages } = newMessages(input, same, earlier);
  const shown = [];
  for (const message of messages) {
    shown.push(shortened(message));
    yield;
  }
  return { from, messages: shown, tools: toolNames(input) };
}

/** The names of the tools that were called, by the ids of the calls. */
export function toolNames({ messages }: GenerateRequest): Record<string, string> {
  return Object.fromEntries(
    messages.flatMap(({ role, content }) =>
      role !== "assistant" ? [] : content.flatMap((part) => part.type === "tool-call" ? [[part.id, part.name]] : [])
    ),
  );
}

/** The answers of the upstreams that answered, in order: a hosted tool leads to several. */
async function answersIn(one: Capture, parsed: Parsed | undefined, gateway: Gateway): Promise<object[]> {
  const answers: object[] = [];
  for (const call of one.calls) {
    const { value, problem } = await attempted(() => answerOf(call, parsed, gateway));
    if (value === undefined && problem === undefined) continue;
    answers.push({ target: call.target, problem, ...shortened(value ?? {}) });
  }
  return answers;
}
