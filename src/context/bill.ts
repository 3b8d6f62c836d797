/** What one answer of an upstream costs, however it ends. */
import { completeUsage, type ReportedUsage, type Usage } from "../canonical/usage.ts";
import type { Price } from "../contract/destination.ts";
import { type Cost, costOf, costOfSound, type ListedPrice } from "../observe/cost.ts";

/** What was set aside for it, in pico-dollars. */
export interface Reserved {
  amount: bigint;
  settle(cost: bigint): void;
}

export interface Pricing {
  price?: Price;
  /** What it costs by lists of prices, once it is known who gave it. */
  listed?: ListedPrice;
  reserved?: Reserved;
}

const NOTHING = () => 0;

export class Bill {
  readonly price: Price | undefined;
  /** What it costs by lists of prices, once it is known who gave it. */
  readonly listed: ListedPrice | undefined;
  /** The tokens of what was asked, estimated. */
  readonly inputTokens: number;
  /** What was used; nothing before the end, and where nobody charges for it. */
  usage?: Usage;
  /** Nothing where no price is known. */
  cost?: Cost;
  /** The tokens of the answer that have come so far, estimated. */
  emitted: () => number = NOTHING;
  readonly #reserved: Reserved | undefined;
  #isOver = false;

  constructor(inputTokens: number, { price, listed, reserved }: Pricing) {
    this.inputTokens = inputTokens;
    this.price = price;
    this.listed = listed;
    this.#reserved = reserved;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The answer is whole. What the upstream did not count of it is estimated. */
  settle(reported: ReportedUsage, emitted = this.emitted): void {
    if (this.#isOver) return;
    const usage = completeUsage(
      reported,
      { inputTokens: Math.ceil(this.inputTokens) },
      reported.outputTokens === undefined ? emitted() : 0,
    );
    this.#close(usage, costOf(usage, this.price, this.listed));
  }

  /** The same of sound that is paid by its length. */
  settleSound(seconds: number): void {
    if (!this.#isOver) this.#close(undefined, this.price && costOfSound(seconds, this.price));
  }

  /**
   * The answer is over without its end, or never came. An upstream charges for what it gave, and for what it was asked where it
   * was at work until nobody wanted the answer any more; for what it failed to give it charges nothing.
   */
  end(isGivenUp: boolean): void {
    if (this.#isOver) return;
    const outputTokens = Math.ceil(this.emitted());
    if (outputTokens === 0 && !isGivenUp) return this.#close(undefined, undefined, true);
    const usage: Usage = { inputTokens: Math.ceil(this.inputTokens), outputTokens, estimated: true };
    this.#close(usage, costOf(usage, this.price, this.listed));
  }

  #close(usage: Usage | undefined, cost: Cost | undefined, isFree = false): void {
    this.#isOver = true;
    this.usage = usage;
    this.cost = cost;
    // What nobody knows the cost of costs what was expected.
    this.#reserved?.settle(isFree ? 0n : cost?.pico ?? this.#reserved.amount);
    // What came of the answer is not held any longer.
    this.emitted = NOTHING;
  }
}
