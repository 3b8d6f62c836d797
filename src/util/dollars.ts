/** Amounts of money, exact: whole pico-dollars, of which a million tokens at a millionth of a dollar still have one each. */
const DIGITS = 12;
/** No amount is longer; what an upstream writes may be. */
const LONGEST = 40;

/** Dollars as pico-dollars, of a number or a decimal text; what is smaller than one is left out. Nothing for what is no amount. */
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
