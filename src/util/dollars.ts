/** Exact amounts of money in whole pico-dollars. At a millionth of a dollar for a million tokens, each token still costs one. */
const DIGITS = 12;
/** No real amount is longer, but an upstream may write anything. */
const LONGEST = 40;

/** Converts dollars to pico-dollars and drops smaller fractions. `undefined` if the number or text is not an amount. */
export function picoDollars(amount: number | string): bigint | undefined {
  const text = String(amount);
  const match = text.length <= LONGEST ? /^(\d+)(?:\.(\d*))?(?:e([+-]?\d{1,2}))?$/i.exec(text) : undefined;
  if (!match) return undefined;
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const shift = DIGITS + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}

/** Pico-dollars as a decimal text in dollars: `0.00125`. */
export function formatDollars(pico: bigint): string {
  const text = pico.toString().padStart(DIGITS + 1, "0");
  const fraction = text.slice(-DIGITS).replace(/0+$/, "");
  return `${text.slice(0, -DIGITS)}${fraction === "" ? "" : `.${fraction}`}`;
}
