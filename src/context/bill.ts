/** The cost of one upstream's answer, however it ends. */
import { completeUsage, type ReportedUsage, type Usage } from "../canonical/usage.ts";
import type { Price } from "../contract/planned_target.ts";
import { type Cost, costOf, costOfSound, type ListedPrice } from "../observe/cost.ts";

/** The amount reserved for the answer, in pico-dollars. */
export interface Reserved {
  amount: bigint;
  settle(cost: bigint): void;
}

export interface Pricing {
  price?: Price;
  /** The price in published lists, once the provider is known. */
  listed?: ListedPrice;
  reserved?: Reserved;
}

const NOTHING = () => 0;

export class Bill {
  readonly price: Price | undefined;
  /** The price in published lists, once the provider is known. */
  readonly listed: ListedPrice | undefined;
  /** The estimated tokens of the request. */
  readonly inputTokens: number;
  /** The usage. Absent before the end, and if nobody charges for it. */
  usage?: Usage;
  /** Absent if no price is known. */
  cost?: Cost;
  /** The estimated tokens of the answer so far. */
  emitted: () => number = NOTHING;
  /** The pictures that were wanted, which an upstream may charge for although nobody waits for them any more. */
  pictures?: number;
  /** Whether the answer has ended. */
  isOver = false;
  readonly #reserved: Reserved | undefined;

  constructor(inputTokens: number, { price, listed, reserved }: Pricing) {
    this.inputTokens = inputTokens;
    this.price = price;
    this.listed = listed;
    this.#reserved = reserved;
  }

  /** The answer is complete. Counts that the upstream did not report are estimated. */
  settle(reported: ReportedUsage, emitted = this.emitted): void {
    if (this.isOver) return;
    const usage = completeUsage(
      reported,
      { inputTokens: Math.ceil(this.inputTokens) },
      reported.outputTokens === undefined ? emitted() : 0,
    );
    const priced = this.price ?? this.listed ?? usage.reportedCost;
    this.#close(usage, priced === undefined ? undefined : costOf(usage, this.price, this.listed));
  }

  /** Like `settle`, for audio that is priced by its length. */
  settleSound(seconds: number): void {
    if (!this.isOver) this.#close(undefined, this.price && costOfSound(seconds, this.price));
  }

  /**
   * The answer ended early or never came. An upstream charges for what it returned, and for the request if it was working until
   * the answer was no longer wanted. It charges nothing for an answer that it failed to return.
   */
  end(isGivenUp: boolean): void {
    if (this.isOver) return;
    const outputTokens = Math.ceil(this.emitted());
    if (outputTokens === 0 && !isGivenUp) return this.#close(undefined, undefined, true);
    const usage: Usage = {
      inputTokens: Math.ceil(this.inputTokens),
      outputTokens,
      ...(this.pictures !== undefined && { pictures: this.pictures }),
      estimated: true,
    };
    this.#close(usage, costOf(usage, this.price, this.listed));
  }

  #close(usage: Usage | undefined, cost: Cost | undefined, isFree = false): void {
    this.isOver = true;
    this.usage = usage;
    this.cost = cost;
    // If the cost is unknown, the reserved amount is charged.
    this.#reserved?.settle(isFree ? 0n : cost?.pico ?? this.#reserved.amount);
    // Releases what the answer's counter holds.
    this.emitted = NOTHING;
  }
}
