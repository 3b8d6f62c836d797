/** Hosted tools in a conversation: who runs them, and what the gateway is to do where it does. */
import { collectFrom } from "../canonical/collect.ts";
import { estimateInputTokens } from "../canonical/estimate.ts";
import type {
  GenerateEvent,
  GenerateRequest,
  GenerateResponse,
  HostedPart,
  HostedTool,
  Message,
} from "../canonical/generate.ts";
import type { HostedCall, HostedResult, HostedWork, RemoteTool, RemoteWork, SearchHit } from "../canonical/hosted.ts";
import type { Input } from "../canonical/operations.ts";
import { replay } from "../canonical/replay.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { WireRequest } from "../contract/context.ts";
import type { Destination } from "../contract/destination.ts";
import type { Protocol } from "../contract/protocol.ts";
import { settleApprovals, stepsIn } from "../transforms/approvals.ts";
import { citing } from "../transforms/citations.ts";
import { functionsFor, type HostedFunction } from "../transforms/hosted_functions.ts";
import type { HostedOffer } from "../transforms/hosted_history.ts";
import { transformed } from "../transforms/apply.ts";
import { type EventSource, opening, sourceOf } from "../util/event_source.ts";
import { wireOf } from "./attempt.ts";
import { hostedRounds } from "./hosted_rounds.ts";

/** What the gateway runs in one answer. */
export interface Hosted {
  functions: readonly HostedFunction[];
  before: readonly HostedPart[];
  /** Whether the client can be left to go on later with an answer that took long. */
  canPause: boolean;
}

/** Whether a target is left to run the tool: one of its own wire that is not known to refuse it, or that is said to. */
export function runsAt(tool: HostedTool, where: Destination, { gateway }: RequestContext): boolean {
  const upstream = gateway.upstreams.get(where.upstream);
  const mode = where.hostedTools ?? upstream?.quirks.hostedTools;
  if (mode !== undefined) return mode === "upstream";
  if (tool.work && upstream?.driver.runs?.includes(tool.work.kind)) return true;
  // Few servers of open models run the tools of the wires that they speak: what the gateway can run, it runs.
  if (tool.work && gateway.hosted.runs(tool.work)) return false;
  return wireOf(where, gateway) === tool.extra.wire && !upstream?.refuses.includes(tool.name);
}

/** Whether the gateway may run hosted tools for a target. */
function mayRunFor(where: Destination, { gateway }: RequestContext): boolean {
  const mode = where.hostedTools ?? gateway.upstreams.get(where.upstream)?.quirks.hostedTools;
  return mode === undefined || mode === "gateway";
}

/**
 * What the gateway runs of the request's hosted tools, and the request as it is then; nothing where it runs none of them.
 * Servers that the request names are asked for their tools.
 */
export function planHosted(
  protocol: Protocol<"generate">,
  input: Input<"generate">,
  wire: WireRequest,
  targets: readonly Destination[],
  context: RequestContext,
): Promise<Planned> | undefined {
  const beside = protocol.toolsBeside?.(wire)?.tools ?? [];
  const asked = [...input.tools ?? [], ...beside].filter(isHosted);
  const [first] = targets;
  if (asked.length === 0 || !first || !mayRunFor(first, context)) return undefined;
  const own = asked.filter((tool) => context.gateway.hosted.runs(tool.work) && !runsAt(tool, first, context));
  return own.length === 0 ? undefined : plan(protocol, input, own, beside, context);
}

/** A request of which the gateway runs hosted tools. */
interface Planned {
  input: Input<"generate">;
  hosted: Hosted;
}

async function plan(
  { canPause = false }: Protocol<"generate">,
  input: Input<"generate">,
  own: readonly RunnableTool[],
  beside: readonly HostedTool[],
  context: RequestContext,
): Promise<Planned> {
  const lists = await listTools(own, input.messages, context);
  const added = beside.filter((tool) => own.some((one) => one === tool));
  const tools = [...input.tools ?? [], ...added];
  const functions = functionsFor(
    tools.filter((tool) => tool.type !== "hosted" || own.some((one) => one === tool)),
    lists.tools,
  );
  const { messages, approved } = settleApprovals(input.messages);
  return {
    input: { ...withoutFields(input, added, own), tools, messages },
    hosted: {
      functions,
      before: [...lists.parts, ...approved, ...unfinished(messages)],
      canPause,
    },
  };
}

type RunnableTool = HostedTool & { work: HostedWork };

function isHosted(tool: { type: string }): tool is RunnableTool {
  return tool.type === "hosted" && (tool as HostedTool).work !== undefined;
}

/** The request without the fields that asked for a tool which stands among the others now. */
function withoutFields(
  input: Input<"generate">,
  added: readonly HostedTool[],
  own: readonly RunnableTool[],
): Input<"generate"> {
  const named = own.flatMap(({ work }) => work.kind === "mcp" && work.field !== undefined ? [work.field] : []);
  const names = new Set([...named, ...added.flatMap(({ extra }) => Object.keys(extra.fields))]);
  const { extra } = input;
  if (!extra || names.size === 0) return input;
  const fields = Object.fromEntries(Object.entries(extra.fields).filter(([name]) => !names.has(name)));
  return { ...input, extra: { ...extra, fields } };
}

/** The tools of each remote server: those that the conversation has listed already are not asked for again. */
async function listTools(
  tools: readonly RunnableTool[],
  messages: readonly Message[],
  context: RequestContext,
): Promise<{ tools: Map<string, readonly RemoteTool[]>; parts: HostedPart[] }> {
  const known = new Map<string, readonly RemoteTool[]>();
  for (const part of stepsIn(messages)) {
    if (part.call.kind === "mcp-list" && part.result?.kind === "tools") known.set(part.call.server, part.result.tools);
  }
  const works = tools.map(({ work }) => work).filter((work) => work.kind === "mcp");
  const unknown = works.filter(({ server }) => !known.has(server));
  const results = await Promise.all(unknown.map((work) => listOne(work, context)));
  const parts = unknown.map(({ server }, index): HostedPart => ({
    type: "hosted",
    id: context.gateway.newId(),
    call: { kind: "mcp-list", server },
    result: results[index],
  }));
  for (const [index, { server }] of unknown.entries()) {
    const result = results[index];
    if (result?.kind === "tools") known.set(server, result.tools);
    else context.note(`could not list the tools of ${server}`);
  }
  return { tools: known, parts };
}

function listOne(work: RemoteWork, context: RequestContext): Promise<HostedResult> {
  return context.gateway.hosted.run({ kind: "mcp-list", server: work.server }, work, factsOf(context, () => false));
}

function factsOf({ signal, recorder }: RequestContext, isNamed: (url: string) => boolean, own = signal) {
  return { signal: own, onFailure: (reason: unknown) => recorder.explain(reason), isNamed };
}

/** Calls at the very end of the conversation that have no result: the answer was cut before they ran. */
function unfinished(messages: readonly Message[]): HostedPart[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [];
  const steps = stepsIn([last]);
  const done = new Set(steps.filter(({ result }) => result).map(({ id }) => id));
  return steps.filter(({ id, awaitsApproval }) => !done.has(id) && !awaitsApproval).map(({ id, call }) => ({
    type: "hosted",
    id,
    call,
  }));
}

/** The same whole. */
export function answerHosted(
  hosted: Hosted,
  request: GenerateRequest,
  context: RequestContext,
  ask: (request: GenerateRequest, estimate: number, offer: HostedOffer) => Promise<GenerateResponse>,
): Promise<GenerateResponse> {
  const open = (...asked: Parameters<typeof ask>) => opening(async () => sourceOf(replay(await ask(...asked))));
  return collectFrom(streamHosted(hosted, request, context, open));
}

/** The answer, in which the gateway runs hosted tools, as the events of one. `open` asks the model. */
export function streamHosted(
  { functions, before, canPause }: Hosted,
  request: GenerateRequest,
  context: RequestContext,
  open: (request: GenerateRequest, estimate: number, offer: HostedOffer) => EventSource<GenerateEvent>,
): EventSource<GenerateEvent> {
  const { gateway, signal, caller } = context;
  const { rounds, deadlineMs } = gateway.hostedLimits;
  const hits = hitsIn(request.messages);
  const named = new NamedAddresses(request.messages);
  const until = gateway.monotonic() + deadlineMs;
  const account = gateway.admission(caller);
  const answer = hostedRounds({
    id: gateway.newId(),
    request,
    functions,
    before,
    canPause,
    rounds,
    lastHit: Math.max(0, ...hits.keys()),
    isLate: () => gateway.monotonic() >= until,
    ask: (grown, isLast) => open(grown, estimateInputTokens(grown), { functions, isLast }),
    async run(call: HostedCall, work: HostedWork, stop) {
      if (account && !account.takeCall()) return { kind: "error", code: "too_many_requests" };
      const own = AbortSignal.any([signal, stop]);
      const result = await gateway.hosted.run(call, work, factsOf(context, (url) => named.has(url), own));
      named.add(result);
      return result;
    },
  });
  // Numbers in brackets that a schema asks for cite nothing.
  return request.outputSchema ? answer : transformed(answer, citing(hits), signal);
}

function hitsIn(messages: readonly Message[]): Map<number, SearchHit> {
  const found = stepsIn(messages).flatMap(({ result }) => result?.kind === "hits" ? result.hits : []);
  return new Map(found.map((hit) => [hit.number, hit]));
}

/** The addresses that users and tools have named: no page is opened that the model alone has thought of. */
class NamedAddresses {
  readonly #texts: string[];

  constructor(messages: readonly Message[]) {
    const others = messages.filter(({ role }) => role !== "assistant").map(({ content }) => content);
    this.#texts = [JSON.stringify([others, stepsIn(messages).map(({ result }) => result)])];
  }

  add(result: HostedResult): void {
    this.#texts.push(JSON.stringify(result));
  }

  has(url: string): boolean {
    const [plain] = url.split("#", 1);
    const written = JSON.stringify(plain).slice(1, -1).replace(/\/$/, "");
    return this.#texts.some((text) => text.includes(written));
  }
}
