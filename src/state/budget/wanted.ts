/** The amount that a call wants of a budget, in pico-dollars: `most` if there is enough, and at least `least`. */
export interface Wanted {
  most: bigint;
  /** The call is refused if there is less. */
  least: bigint;
  /** The work that `least` pays for, named in the text of a refusal. */
  why?: string;
}

/** The amount to reserve for an answer. */
export interface Reserving extends Wanted {
  /** How many tokens the reserved amount pays for. Absent if the answer's length is already fixed. */
  limitFor?(amount: bigint): number;
}

/**
 * How much of the free amount a call gets. Absent if there is too little. A call that can do with less leaves half of it to
 * the others, so that a call without a token limit does not keep out all that come while it runs.
 */
export function shareOf({ most, least }: Pick<Wanted, "most" | "least">, free: bigint): bigint | undefined {
  if (least > free) return undefined;
  const half = free / 2n;
  const some = half > least ? half : least;
  return most < some ? most : some;
}
