/** One target that is asked, and the way from one to the next. */
import { withoutHosted } from "../transforms/hosted_tools.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import { withoutForeignReasoning } from "../transforms/reasoning.ts";
import type { AnswerContext } from "../contract/context.ts";
import type { Driver, Target } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import { type Destination, targetName } from "../contract/destination.ts";
import type { Ask } from "../upstream/call.ts";
import type { Road } from "../routing/failover.ts";
import type { Upstream } from "../upstream/send.ts";
import { count, type Counted } from "./count.ts";
import type { Gateway } from "./gateway.ts";
import { addNote, type Journey, notesOf, refuseIfStrict } from "./journey.ts";

/** What is known of one target while it is asked. What was changed for it holds for no other one. */
export interface Attempt {
  /** `upstream/model`. */
  target: string;
  /** Who served there, where the upstream chose among providers and said whom. */
  provider?: string;
  notes: Set<string>;
  /** What it is asked, in tokens; nothing where it is no conversation. */
  counted?: Counted;
}

/** What asks the operation of a target. It is the journey's attempt from now on. */
export function ask<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  where: Destination,
  journey: Journey,
  signal: AbortSignal = journey.signal,
): Ask<K> {
  const { gateway, clientWire, caller } = journey;
  const upstream = upstreamOf(where, journey);
  const attempt: Attempt = { target: targetName(where), notes: new Set() };
  journey.attempt = attempt;
  journey.attempts.set(where, attempt);
  const note = (text: string) => addNote(attempt.notes, journey.hide(text));
  const target: Target = { ...upstream.quirks, ...where, model: where.pinned ?? where.model };
  const offered = "messages" in input ? withoutHosted(input, upstream.refuses, note) : input;
  const readable = "messages" in offered ? withoutForeignReasoning(offered, attempt.target, note) : offered;
  const counted = "messages" in readable ? count(readable, attempt.target, gateway) : undefined;
  attempt.counted = counted;
  const context: AnswerContext = {
    clientWire,
    note,
    get inputTokens() {
      if (!counted) return 0;
      counted.used = true;
      return counted.inputTokens;
    },
  };
  const onDescribed = () => refuseIfStrict(journey, notesOf({ ...journey, attempt }));
  const onHead = (headers: Headers) => {
    const provider = providerIn(headers, upstream);
    if (provider !== undefined && journey.hide(provider) === provider) attempt.provider = provider;
  };
  const { fetch } = gateway;
  const asked = upstream.takesTokens ? { ...upstream, secret: caller.token } : upstream;
  return { operation, input: readable, target, upstream: asked, context, fetch, signal, onDescribed, onHead };
}

/** The way along the targets of a request: who is asked, who answers, and who is not to be asked first again. */
export function roadAlong(targets: readonly Destination[], journey: Journey, hedgeAfterMs?: number): Road<Destination> {
  const { gateway, signal, conversation, caller } = journey;
  const { breaker, retry: policy, hedges, homes, upstreams, now } = gateway;
  if (hedgeAfterMs !== undefined) hedges.earn();
  return {
    targets,
    breaker,
    policy,
    now,
    signal,
    hedge: hedgeAfterMs === undefined ? undefined : { afterMs: hedgeAfterMs, spend: () => hedges.spend() },
    // What a caller's own token fails with says nothing of the next caller's.
    idOf: (where) =>
      upstreams.get(where.upstream)?.takesTokens ? `${targetName(where)} ${caller.owner}` : targetName(where),
    enter: async (where, until) => await upstreams.get(where.upstream)?.slots?.take(caller.owner, until) ?? (() => {}),
    onAsk: () => void journey.asked++,
    onServed(where) {
      const attempt = journey.attempts.get(where);
      if (!attempt) return;
      journey.attempt = attempt;
      journey.begun = true;
      // From now on what is said of it is said of the answer.
      for (const note of attempt.notes) journey.note(note);
      attempt.notes = journey.notes;
      if (conversation !== undefined) homes.keep(conversation, attempt);
    },
    onFailed(where) {
      if (conversation !== undefined) homes.forget(conversation, targetName(where));
    },
  };
}

/** Who served, as an upstream that chooses among providers says it: an id, and nothing that would not fit into a model's name. */
function providerIn(headers: Headers, { providers }: Upstream): string | undefined {
  const provider = providers && headers.get(providers.servedBy);
  return provider && /^[\w.-]{1,64}$/.test(provider) ? provider : undefined;
}

/** The wire that the target speaks. */
export function wireOf({ upstream, driver }: Destination, { upstreams, drivers }: Gateway): string | undefined {
  return (driver === undefined ? upstreams.get(upstream)?.driver : drivers.get(driver))?.wire;
}

/** The upstream, spoken to as the place behind it is. Throws where the caller may not use it. */
function upstreamOf(
  { upstream: name, driver: spoken, path, guessed, pinned }: Destination,
  { gateway: { upstreams, drivers }, caller }: Journey,
): Upstream {
  const upstream = upstreams.get(name);
  const driver = spoken === undefined ? upstream?.driver : drivers.get(spoken);
  if (!upstream || !driver) throw new GatewayError("internal", `Upstream "${name}" is not configured`);
  if (caller.isStranger && !upstream.takesTokens && upstream.baseUrl !== undefined) {
    throw new GatewayError("permission", `Upstream "${name}" is for callers with a key of this gateway`, {
      tryNextTarget: true,
    });
  }
  if (upstream.takesTokens && !caller.token) {
    const message = `Upstream "${name}" takes the caller's own token: send it as "Authorization: Bearer <token>"`;
    throw new GatewayError("authentication", message, { tryNextTarget: true });
  }
  const own = upstream.takesTokens ? withCallersToken(driver) : driver;
  if (pinned !== undefined) return { ...upstream, driver: lenient(own) };
  if (path === undefined) return own === driver ? upstream : { ...upstream, driver: own };
  return { ...upstream, driver: guessed ? unsure(own) : own, baseUrl: `${upstream.baseUrl}/${path}` };
}

/** The same driver, whose errors are told otherwise. */
function retold(driver: Driver, change: (error: GatewayError) => GatewayError): Driver {
  return { ...driver, parseError: (reply) => change(driver.parseError(reply)) };
}

/** Of a place that was only guessed, "no such model" says nothing of the model. */
function unsure(driver: Driver): Driver {
  const message = "Cannot find out where the model is: the catalog does not answer, and it is not where most are";
  return retold(
    driver,
    (error) => error.code === "model_not_found" ? new GatewayError("unavailable", message, error.details) : error,
  );
}

/** What one provider refuses may be well with another one. */
function lenient(driver: Driver): Driver {
  return retold(
    driver,
    ({ code, message, details }) => new GatewayError(code, message, { ...details, tryNextTarget: true }),
  );
}

/** A token that is refused is the caller's. */
function withCallersToken(driver: Driver): Driver {
  return retold(driver, (error) => {
    const { upstreamStatus: status, ...details } = error.details;
    if (status !== 401 && status !== 403) return error;
    const told = { ...details, upstreamStatus: status, tryNextTarget: true };
    return new GatewayError(
      status === 401 ? "authentication" : "permission",
      `The upstream refused your token (${status})`,
      told,
    );
  });
}
