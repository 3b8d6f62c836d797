/** Keeps conversations at the target that answered them last. It has cached what it read, so the next turn costs less. */
import { BoundedMap } from "../util/bounded_map.ts";
import { builtin } from "../util/builtin.ts";
import type { GenerateRequest, Message } from "../canonical/generate.ts";
import { type PlannedTarget, targetName, withoutPolicy } from "../contract/planned_target.ts";

/** Where a conversation was last answered. */
export interface LastTarget {
  /** The name of the target. */
  target: string;
  /** The provider that served it, if the upstream chooses among providers and names its choice. */
  provider?: string;
}

/** The longest time for which hosts cache the beginning of a prompt, in milliseconds. */
const KEPT_MS = 3_600_000;
/** How many conversations are remembered. The one that was answered longest ago is dropped first. */
const MOST_CONVERSATIONS = 10_000;

/** Where the latest conversations were answered. */
export class SessionAffinity {
  readonly #targets = new BoundedMap<string, LastTarget & { until: number }>(MOST_CONVERSATIONS);
  readonly #now: () => number;
  readonly #hasReplicas: boolean;

  /** `hasReplicas`: whether other gateways serve turns of the same conversations. */
  constructor(now: () => number, { hasReplicas = false } = {}) {
    this.#now = now;
    this.#hasReplicas = hasReplicas;
  }

  /**
   * `first`: the target that every gateway would try first. If the gateway alone remembers a different one, the memory is
   * ignored, because the gateways would disagree.
   */
  of(conversation: string, first: string): LastTarget | undefined {
    const last = this.#targets.get(conversation);
    if (!last || this.#now() >= last.until) return undefined;
    return this.#hasReplicas && last.target !== first ? undefined : last;
  }

  keep(conversation: string, { target, provider }: LastTarget): void {
    this.#targets.set(conversation, { target, ...(provider && { provider }), until: this.#now() + KEPT_MS });
  }

  /** Forgets a target that failed, unless the conversation has moved to another target. */
  forget(conversation: string, target: string): void {
    if (this.#targets.get(conversation)?.target === target) this.#targets.delete(conversation);
  }
}

/**
 * The order in which a conversation tries its targets: the target that answered last comes first. If the upstream chooses among
 * providers, the provider that served is requested by name first. After that the upstream may choose again. `policiesOf` returns
 * the suffixes of model names at such an upstream that choose no provider. Any other suffix is the client's own choice.
 */
export function orderByAffinity(
  targets: readonly PlannedTarget[],
  last: LastTarget | undefined,
  policiesOf: (upstream: string) => readonly string[] | undefined,
): readonly PlannedTarget[] {
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
 * Identifies a conversation, in a few microseconds whatever its length: by the client's own name for it (its cache key, or else
 * the `sessionHeaders` that it sends), or else by its beginning. `scope` separates callers, lanes and models.
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

/** The instructions and the user's first message. Later turns change, and files do not help here. */
function beginning(messages: readonly Message[]): string[] {
  const first = (role: Message["role"]) => messages.find((message) => message.role === role)?.content ?? [];
  return [...first("system"), ...first("user")].slice(0, MOST_TEXTS).map((part) =>
    part.type === "text" ? part.text : ""
  );
}

const MOST_TEXTS = 16;
const LONGEST_TEXT = 1_024;

/** The two ends of a long text: agents put their constant text first, and the user's own words last. */
function ends(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return `${text.length} ${text.slice(0, LONGEST_TEXT / 2)} ${text.slice(-LONGEST_TEXT / 2)}`;
}
