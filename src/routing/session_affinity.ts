/** Conversations stay with the target that answered them last: it holds what it has read of them, so they cost it less. */
import { BoundedMap } from "../util/bounded_map.ts";
import { builtin } from "../util/builtin.ts";
import type { GenerateRequest, Message } from "../canonical/generate.ts";
import { type Destination, targetName, withoutPolicy } from "../contract/destination.ts";

/** Where a conversation was answered. */
export interface LastTarget {
  /** The name of the target. */
  target: string;
  /** Who served there, where the upstream chooses among providers and says whom it chose. */
  provider?: string;
}

/** As long as hosts keep the beginning of a prompt at most, in milliseconds. */
const KEPT_MS = 3_600_000;
/** How many conversations are remembered; the one that was answered first is forgotten for a further one. */
const MOST_CONVERSATIONS = 10_000;

/** Where the latest conversations were answered. */
export class SessionAffinity {
  readonly #targets = new BoundedMap<string, LastTarget & { until: number }>(MOST_CONVERSATIONS);
  readonly #now: () => number;
  readonly #hasReplicas: boolean;

  /** `hasReplicas`: whether other gateways answer turns of the same conversations. */
  constructor(now: () => number, { hasReplicas = false } = {}) {
    this.#now = now;
    this.#hasReplicas = hasReplicas;
  }

  /** `first`: the target that all gateways would ask first. What this one alone remembers of another one would divide them. */
  of(conversation: string, first: string): LastTarget | undefined {
    const last = this.#targets.get(conversation);
    if (!last || this.#now() >= last.until) return undefined;
    return this.#hasReplicas && last.target !== first ? undefined : last;
  }

  keep(conversation: string, { target, provider }: LastTarget): void {
    this.#targets.set(conversation, { target, ...(provider && { provider }), until: this.#now() + KEPT_MS });
  }

  /** A target that failed is forgotten; that of another conversation, or another target by now, stays. */
  forget(conversation: string, target: string): void {
    if (this.#targets.get(conversation)?.target === target) this.#targets.delete(conversation);
  }
}

/**
 * The targets in the order in which the conversation asks them: the last one that answered it first. Where the upstream chooses among providers,
 * the one that served is asked for by name, and then the upstream may choose anew. `policiesOf` gives what may stand after
 * the colon of a model's name at such an upstream and chooses none; any other word there is the client's own choice.
 */
export function orderByAffinity(
  targets: readonly Destination[],
  last: LastTarget | undefined,
  policiesOf: (upstream: string) => readonly string[] | undefined,
): readonly Destination[] {
  const own = last && targets.find((target) => targetName(target) === last.target);
  if (!own) return targets;
  const { model } = own;
  const bare = withoutPolicy(model);
  const policies = policiesOf(own.upstream);
  const isOpen = bare === model || policies?.includes(model.slice(bare.length + 1));
  const pinned = last.provider !== undefined && policies && isOpen ? `${bare}:${last.provider}` : undefined;
  return [...(pinned ? [{ ...own, pinned }] : []), own, ...targets.filter((target) => target !== own)];
}

/**
 * What distinguishes a conversation from others, in a few microseconds however long it is: what the client calls it (its key for the
 * cache, else the `sessionHeaders` that it sends), else how it begins. `scope` keeps callers, lanes and models apart.
 */
export function conversationKey(
  scope: readonly string[],
  { cacheKey, messages }: Pick<GenerateRequest, "cacheKey" | "messages">,
  headers: Headers,
  sessionHeaders: readonly string[],
): string {
  const named = cacheKey ? [cacheKey] : sessionHeaders.map((name) => headers.get(name) ?? "");
  const words = named.some((one) => one !== "") ? ["named", ...named] : ["begins", ...beginning(messages)];
  return builtin("node:crypto").hash("sha256", JSON.stringify([...scope, ...words.map(ends)]), "base64url");
}

/** The instructions and what the user asked first. Later turns come and go, and files are of no use here. */
function beginning(messages: readonly Message[]): string[] {
  const first = (role: Message["role"]) => messages.find((message) => message.role === role)?.content ?? [];
  return [...first("system"), ...first("user")].slice(0, MOST_TEXTS).map((part) =>
    part.type === "text" ? part.text : ""
  );
}

const MOST_TEXTS = 16;
const LONGEST_TEXT = 1_024;

/** Of a long text both ends: agents put what they always say first, and the user's own words last. */
function ends(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return `${text.length} ${text.slice(0, LONGEST_TEXT / 2)} ${text.slice(-LONGEST_TEXT / 2)}`;
}
