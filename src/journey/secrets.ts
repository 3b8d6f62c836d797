/** What an upstream says of its failure may quote the credential that it was sent: nobody is told that. */
import { GatewayError } from "../errors.ts";
import type { Journey } from "./journey.ts";

/** Shorter ones are words that local servers want and nobody keeps, such as "none": text is full of them. */
export const SHORTEST_MASKED = 8;

/** A message that is too long is cut, perhaps within a secret: so much of one at the end is taken for it. */
const SHORTEST_BEGINNING = 4;

/** The same error without the gateway's secrets, and without the caller's token. */
export function withoutSecrets(error: GatewayError, { gateway, caller }: Journey): GatewayError {
  // Longer ones first: one may hold another.
  const secrets = [...gateway.secrets, caller.token ?? ""]
    .filter(({ length }) => length >= SHORTEST_MASKED)
    .sort((a, b) => b.length - a.length);
  const hide = (text: string) => secrets.reduce(mask, text);
  const { code, message, details } = error;
  const param = details.param && hide(details.param);
  if (hide(message) === message && param === details.param) return error;
  return new GatewayError(code, hide(message), { ...details, param });
}

function mask(text: string, secret: string): string {
  const whole = text.replaceAll(secret, "***");
  for (let length = secret.length - 1; length >= SHORTEST_BEGINNING; length--) {
    const cut = `${secret.slice(0, length)}…`;
    if (whole.endsWith(cut)) return `${whole.slice(0, -cut.length)}***`;
  }
  return whole;
}
