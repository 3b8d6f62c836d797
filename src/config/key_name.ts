/** Names of keys that are created while the gateway runs. */

/** The prefix of the names of callers with an OpenID Connect token. */
export const OIDC_PREFIX = "oidc:";

const LONGEST_NAME = 200;

/** Why a new key cannot have the name, in one sentence. Undefined if it can. */
export function whyNotName(name: string): string | undefined {
  const isPlain = name !== "" && name.trim() === name && !/\p{Cc}/u.test(name) && name.isWellFormed();
  if (!isPlain || name.length > LONGEST_NAME) {
    return `Expected a name of at most ${LONGEST_NAME} characters, without control characters, and without blanks around it`;
  }
  if (!name.startsWith(OIDC_PREFIX)) return undefined;
  return `A key's name cannot begin with "${OIDC_PREFIX}", because callers with tokens are called so`;
}
