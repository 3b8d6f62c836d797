import type { Config } from "../config/schema.ts";
import { storeKind } from "../config/store_kinds.ts";
import type { SharedCounts } from "../contract/shared_counts.ts";
import type { Workers } from "../context/workers.ts";
import type { Meter } from "../observe/meter.ts";
import type { Platform } from "../platform/platform.ts";
import type { CommonCounts, CountsOptions } from "../state/counts.ts";
import { loadServerKind } from "../state/server_kinds.ts";

/**
 * The state that gateways share besides the store: the counts of limits, and the targets that rest. Its code is loaded
 * when first used.
 */
export interface Shared extends SharedCounts {
  /** Announces this gateway to the others. */
  begin(): void;
  /** Tells the others that a target rests. */
  rest(target: string, ms: number): void;
  /** Called when any gateway reports a target that rests. */
  onRest?: (target: string, ms: number) => void;
  close(): Promise<void>;
}

type Env = Platform["env"];

export interface SharedOptions {
  config: Config;
  platform: Platform;
  env: Env;
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
  /** The processes that serve together with this one. */
  workers?: Pick<Workers, "count" | "keeper">;
  meter?: Meter;
}

/** Whether other gateways use the same store, and count in it. */
export function isStoreShared({ store }: Config, workers: SharedOptions["workers"]): boolean {
  return storeKind(store.kind).isShared || workers?.keeper !== undefined;
}

export function createShared({ config, platform, env, monotonic, workers, meter }: SharedOptions): Shared {
  const expected = Math.max(config.replicas, workers?.count ?? 1);
  return new LoadedLater(
    expected,
    (shared) =>
      loadCounts({ store: config.store, keeper: workers?.keeper }, platform, env, {
        monotonic,
        expected,
        onRest: (target, ms) => shared.onRest?.(target, ms),
        onCall: meter && ((operation, seconds, failed) => meter.count({ type: "store", operation, seconds, failed })),
      }),
  );
}

async function loadCounts(
  { store, keeper }: { store: Config["store"]; keeper?: string },
  platform: Platform,
  env: Env,
  options: Omit<CountsOptions, "counter">,
): Promise<CommonCounts> {
  if (keeper !== undefined && !storeKind(store.kind).isShared) {
    return (await import("./keeper_client.ts")).openKeeperCounts(keeper, options);
  }
  return (await loadServerKind(store))!.at(store, platform, env).openCounts(options);
}

class LoadedLater implements Shared {
  readonly #expected: number;
  readonly #load: (shared: Shared) => Promise<CommonCounts>;
  #counts: CommonCounts | undefined;
  #loading: Promise<CommonCounts> | undefined;
  /** Why loading failed. */
  #failure: Error | undefined;
  #isReported = false;
  onRest?: (target: string, ms: number) => void;

  constructor(expected: number, load: (shared: Shared) => Promise<CommonCounts>) {
    this.#expected = expected;
    this.#load = load;
  }

  get gateways(): number {
    return this.#counts?.gateways ?? this.#expected;
  }

  isUp(): boolean {
    return this.#counts?.isUp() ?? true;
  }

  isAlone(): boolean {
    return this.#counts?.isAlone() ?? this.#failure !== undefined;
  }

  takeFailure(): Error | undefined {
    if (this.#counts) return this.#counts.takeFailure();
    const failure = this.#isReported ? undefined : this.#failure;
    this.#isReported = failure !== undefined || this.#isReported;
    return failure;
  }

  newId(): string {
    return this.#counts?.newId() ?? crypto.randomUUID();
  }

  async take(...args: Parameters<SharedCounts["take"]>): ReturnType<SharedCounts["take"]> {
    return await (this.#counts ?? await this.#loaded()).take(...args);
  }

  settle(...args: Parameters<SharedCounts["settle"]>): void {
    this.#counts?.settle(...args);
  }

  hold(...args: Parameters<SharedCounts["hold"]>): void {
    this.#counts?.hold(...args);
  }

  owe(...args: Parameters<SharedCounts["owe"]>): void {
    this.#counts?.owe(...args);
  }

  begin(): void {
    this.#loading ?? this.#loaded().then((counts) => counts.begin()).catch(() => {}); // those who ask find out why
  }

  rest(target: string, ms: number): void {
    this.#loaded().then((counts) => counts.rest(target, ms), () => {}); // those who ask find out why
  }

  async close(): Promise<void> {
    await this.#loading?.then((counts) => counts.close(), () => {});
  }

  #loaded(): Promise<CommonCounts> {
    this.#loading ??= this.#load(this).then((counts) => this.#counts = counts);
    // The next call tries again: the fault may be gone by then, such as a file that is missing.
    this.#loading.catch((failure) => {
      this.#loading = undefined;
      this.#failure = failure;
    });
    return this.#loading;
  }
}
