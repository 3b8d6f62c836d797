/** What a call wants of a budget: as much as it may cost, or less where there is less. Amounts are pico-dollars. */
export interface Wanted {
  most: bigint;
  /** With less it is refused. */
  least: bigint;
  /** What that is, for whoever reads the refusal. */
  why?: string;
}

/** What is to be reserved for an answer. */
export interface Reserving extends Wanted {
  /** How many tokens the answer may have for what was reserved. Absent if its length is settled already. */
  limitFor?(amount: bigint): number;
}

/**
 * How much of what is free it gets; nothing where that is too little. Who can do with less leaves half of it to the others, so
 * that a call without a limit of its own does not keep out all that come while it runs.
 */
export function shareOf({ most, least }: Pick<Wanted, "most" | "least">, free: bigint): bigint | undefined {
  if (least > free) return undefined;
  const half = free / 2n;
  const some = half > least ? half : least;
  return most < some ? most : some;
}
