/** Hosted tools in a conversation, and what the gateway does for those that it runs. */
import type { GenerateEvent, HostedPart, HostedTool, Message, Tool } from "../canonical/generate.ts";
import type { HostedCall, HostedResult, HostedWork, SearchHit, ToolSearchWork } from "../canonical/hosted.ts";
import { isJsonObject, type JsonValue } from "../canonical/json.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { CallFacts } from "../hosted/runner.ts";
import { transformed } from "../transforms/apply.ts";
import { settleApprovals, stepsIn, unfinished } from "../transforms/approvals.ts";
import { citing, lastNumber } from "../transforms/citations.ts";
import { functionsFor, type HostedFunction } from "../transforms/hosted_functions.ts";
import { withFound, withoutHiding } from "../transforms/offered_tools.ts";
import { markThoughts } from "../transforms/reasoning.ts";
import { type EventSource, opening } from "../util/event_source.ts";
import { streamedAnswer } from "./answer.ts";
import { billSearch, isUnpaid } from "./billing.ts";
import { FACT } from "./facts.ts";
import { type Lists, listsIn, listTools } from "./hosted_lists.ts";
import { hostedRounds } from "./hosted_rounds.ts";
import { mayRunFor, runsAt } from "./hosted_tool_policy.ts";
import type { Ask, Hosted, Inference, Offered, Stage } from "./inference.ts";
import { asking } from "./model_limits.ts";
import { runTraced } from "./tracing.ts";

/** A request, and the hosted tools that the gateway runs for it. */
interface Chosen {
  input: Input<"generate">;
  hosted: Hosted;
}

/** Has the gateway run the hosted tools that it can run and that the targets do not run themselves. */
export const HOSTED_TOOLS: Stage<"generate"> = {
  name: "hosted tools",
  operations: ["generate", "countTokens"],
  needs: FACT.hostedTools,
  request(inference) {
    if ((inference.operation as ModelOperation) === "countTokens") return withCountedSearch(inference);
    const chosen = chooseTools(inference);
    const searches = chosen?.input.tools?.filter(isToolSearch) ?? [];
    for (const { work } of searches) {
      const { unknown = [] } = work as ToolSearchWork;
      for (const field of unknown) inference.note(`dropped tools.${field}`);
    }
    if (searches.length > 0) return { ...inference, ...chosen, input: withFoundTools(chosen!.input) };
    return { ...inference, ...chosen, input: withoutSearch(chosen?.input ?? inference.input, inference) };
  },
  around: (inference, ask) =>
    inference.hosted ? streamedAnswer(hostedAnswer(inference.hosted, inference, ask)) : ask(inference),
};

/** The hosted tools that the gateway runs, and the request without their fields. `undefined` if it runs none. */
function chooseTools(
  { protocol, input, plan: { targets }, compaction, beside, context }: Inference<"generate">,
): Chosen | undefined {
  const asked = [...input.tools ?? [], ...beside].filter(isHosted);
  const [first] = targets;
  if (asked.length === 0 || !first || !mayRunFor(first, context)) return undefined;
  const own = asked.filter((tool) => context.gateway.hosted.runner.runs(tool.work) && !runsAt(tool, first, context));
  const [one] = own;
  if (!one) return undefined;
  if (input.relay) {
    const { field } = input.relay;
    const message = `Cannot serve "${field}" together with "${one.name}", which the gateway runs`;
    throw new GatewayError("invalid_request", message, { param: field });
  }
  const chosen = withOwnTools(protocol, input, own, beside, context);
  return compaction?.when === "now" ? { ...chosen, hosted: withNothingBefore(chosen.hosted) } : chosen;
}

function isToolSearch(tool: Tool): tool is RunnableTool {
  return isHosted(tool) && tool.work.kind === "tool-search";
}

/** A count is of the search that the model would see, and of what was found. Other hosted tools are not counted. */
function withCountedSearch(inference: Inference<"generate">): Inference<"generate"> {
  const { input, plan: { targets: [first] }, context } = inference;
  const searches = input.tools?.filter(isToolSearch) ?? [];
  if (searches.length === 0 || !first) return inference;
  const own = mayRunFor(first, context) ? searches.filter((tool) => !runsAt(tool, first, context)) : [];
  if (own.length === 0) return { ...inference, input: withoutSearch(input, inference) };
  const functions = functionsFor(input.tools!.filter((tool) => tool.type !== "hosted" || own.some((o) => o === tool)));
  return { ...inference, input: withFoundTools(input), offer: { functions, isLast: false } };
}

/** Tools that were found earlier can still be called: the conversation says which ones. */
function withFoundTools(input: Input<"generate">): Input<"generate"> {
  const found = stepsIn(input.messages).flatMap(({ result }) => result?.kind === "found" ? result.tools : []);
  return found.length === 0 ? input : { ...input, tools: withFound(input.tools ?? [], found) };
}

/** Tools that nobody would find are shown. */
function withoutSearch(
  input: Input<"generate">,
  { plan: { targets }, context }: Inference<"generate">,
): Input<"generate"> {
  const search = input.tools?.find(isToolSearch);
  const isNative = search && targets.every((where) => runsAt(search, where, context));
  return search && !isNative ? { ...input, tools: withoutHiding(input.tools!) } : input;
}

/** The most remote servers of one request. All are asked for their tools at once. */
const MOST_SERVERS = 32;

function withOwnTools(
  { canPause = false }: Protocol<"generate">,
  input: Input<"generate">,
  own: readonly RunnableTool[],
  beside: readonly HostedTool[],
  context: RequestContext,
): Chosen {
  const added = beside.filter((tool) => own.some((one) => one === tool));
  const tools = [...input.tools ?? [], ...added];
  const run = tools.filter((tool) => tool.type !== "hosted" || own.some((one) => one === tool));
  const { messages, approved } = settleApprovals(input.messages);
  const due = [...approved, ...unfinished(messages)];
  const servers = own.map(({ work }) => work).filter((work) => work.kind === "mcp");
  if (servers.length > MOST_SERVERS) {
    throw new GatewayError("invalid_request", `More than ${MOST_SERVERS} remote servers`, { param: "tools" });
  }
  const lists = listsIn(input.messages, servers);
  let offered: Promise<Offered> | undefined;
  return {
    input: { ...withoutFields(input, added, own), tools, messages },
    hosted: {
      canPause,
      isBegun: due.length + lists.unknown.length > 0,
      offer: () => offered ??= offer(run, lists, due, messages, context),
    },
  };
}

async function offer(
  tools: readonly Tool[],
  lists: Lists,
  due: readonly HostedPart[],
  messages: readonly Message[],
  context: RequestContext,
): Promise<Offered> {
  const added = await listTools(lists, factsOf(context, () => false), context);
  const opensPages = context.gateway.hosted.runner.runs({ kind: "web-fetch" });
  const work = tools.find((tool) => tool.type === "hosted" && tool.work?.kind === "code");
  const code = work?.type === "hosted" && work.work?.kind === "code"
    ? await (await import("./code_execution.ts")).placeCode(work.work, messages, context)
    : undefined;
  const offered = functionsFor(tools, lists.known);
  const functions = (code ? offered.map((one) => one.does === "code" ? code.offered(one) : one) : offered).filter((
    { work, does },
  ) => work.kind !== "web-search" || does === "web-search" || opensPages);
  const usable = await Promise.all(functions.map((one) => permitted(one, context)));
  return { functions: usable.flat(), before: [...added, ...due], ...(code && { code: code.place }) };
}

/** The function as the caller may use it: not at all, or with the client's approval. */
async function permitted(
  { remote, ...rest }: HostedFunction,
  { gateway: { hosted: { runner } }, caller }: RequestContext,
): Promise<HostedFunction[]> {
  if (rest.work.kind !== "mcp" || !remote) return [rest];
  const permission = (await runner.permissions(rest.work, caller.name)).of(remote.name);
  return permission === "no" ? [] : [{ ...rest, remote: { ...remote, needsApproval: permission === "with approval" } }];
}

/** The hosted tools of a request that only wants a summary: none runs before the model. */
function withNothingBefore(hosted: Hosted): Hosted {
  const offer = async () => ({ ...await hosted.offer(), before: [] });
  return { ...hosted, isBegun: false, offer };
}

type RunnableTool = HostedTool & { work: HostedWork };

function isHosted(tool: Tool): tool is RunnableTool {
  return tool.type === "hosted" && tool.work !== undefined && !tool.withdrawn;
}

/** The request without the fields that asked for tools which are now in its list of tools. */
function withoutFields(
  input: Input<"generate">,
  added: readonly HostedTool[],
  own: readonly RunnableTool[],
): Input<"generate"> {
  const names = new Set(added.flatMap(({ extra }) => Object.keys(extra.fields)));
  const servers = own.map(({ work }) => work).filter((work) => work.kind === "mcp");
  for (const { work } of own) if (work.kind === "code" && work.field !== undefined) names.add(work.field);
  const { extra } = input;
  if (!extra || names.size + servers.length === 0) return input;
  const fields = Object.entries(extra.fields).filter(([name]) => !names.has(name)).flatMap(([name, value]) => {
    const isOwn = (one: JsonValue) =>
      isJsonObject(one) && servers.some(({ field, server }) => field === name && one.name === server);
    if (!Array.isArray(value) || !value.some(isOwn)) return [[name, value]];
    const others = value.filter((one) => !isOwn(one));
    return others.length > 0 ? [[name, others]] : [];
  });
  return { ...input, extra: { ...extra, fields: Object.fromEntries(fields) } };
}

function factsOf(
  { gateway, caller, signal, requestLog }: RequestContext,
  isNamed: (url: string) => boolean,
  own = signal,
): CallFacts {
  return {
    key: caller.name,
    owner: gateway.guards.hasSeveralCallers ? caller.owner : undefined,
    signal: own,
    onFailure: (reason) => requestLog.explain(reason),
    isNamed,
  };
}

/** Runs hosted tools between rounds of the model. All rounds are one answer. */
function hostedAnswer(
  { offer, canPause }: Hosted,
  inference: Inference<"generate">,
  ask: Ask<"generate">,
): EventSource<GenerateEvent> {
  return opening(async () => runRounds(await offer(), canPause, inference, ask));
}

function runRounds(
  { functions, before, code }: Offered,
  canPause: boolean,
  inference: Inference<"generate">,
  ask: Ask<"generate">,
): EventSource<GenerateEvent> {
  const { input: request, context } = inference;
  const { gateway, signal, caller, requestLog } = context;
  const { rounds, calls, deadlineMs } = gateway.hosted.limits;
  const hits = hitsIn(request.messages);
  const named = new NamedAddresses(request.messages);
  const until = gateway.clocks.monotonic() + deadlineMs;
  const account = gateway.guards.admission(caller);
  let asked = request;
  const answer = hostedRounds({
    id: gateway.newId(),
    request,
    functions,
    before,
    canPause,
    rounds,
    calls,
    lastHit: lastNumber(request.messages, hits),
    isLate: () => gateway.clocks.monotonic() >= until,
    isUnpaid: (thrown) => isUnpaid(thrown, context),
    ask(grown, isLast) {
      asked = grown;
      const round = ask(asking(inference, grown, { offer: { functions, isLast } }));
      // The next round may be asked of another target.
      return transformed(round, markThoughts(() => requestLog.attempt?.target), signal);
    },
    async run(call: HostedCall, work: HostedWork, stop) {
      const own = AbortSignal.any([signal, stop]);
      if (call.kind === "image" && work.kind === "image") {
        return await (await import("./draw_tool.ts")).drawFor(call, work, asked, context, own);
      }
      // A picture is a request of its own, which counts itself.
      const isInside = call.kind === "tool-search";
      if (!isInside && account && !await account.takeCall()) return { kind: "error", code: "too_many_requests" };
      const facts = { ...factsOf(context, (url) => named.has(url), own), tools: asked.tools, code };
      const run = () => runTraced(call, work, facts, context, asked);
      const result = await (call.kind === "web-search" ? billSearch(run, context, own) : run());
      named.add(result);
      return result;
    },
  });
  // Numbers in brackets are no citations if the answer follows a schema.
  return request.outputSchema ? answer : transformed(answer, citing(hits), signal);
}

function hitsIn(messages: readonly Message[]): Map<number, SearchHit> {
  const found = stepsIn(messages).flatMap(({ result }) => result?.kind === "hits" ? result.hits : []);
  return new Map(found.map((hit) => [hit.number, hit]));
}

/** The addresses that users and tools have named. The gateway opens no page that only the model has named. */
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
