/** Who a caller is by a token (JWT) of an OpenID Connect provider. Loaded when the first such token comes. */
import { errors, type JWTPayload, jwtVerify } from "jose";
import { OIDC_PREFIX } from "../config/key_name.ts";
import type { Config } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { digestOf } from "../util/digest.ts";
import { type Caller, issuerIn, type TokenReader } from "./auth.ts";
import { IssuerKeys, type IssuerKeysOptions } from "./issuer_keys.ts";

type Oidc = NonNullable<Config["oidc"]>;

export interface TokenReaderOptions extends Omit<IssuerKeysOptions, "issuer" | "jwksUrl" | "now"> {
  oidc: Oidc;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds by a clock that never steps. */
  monotonic(): number;
}

interface Known {
  caller: Caller;
  /** Milliseconds since the epoch. */
  expires: number;
}

/** Tokens with hundreds of groups have some 10,000. */
export const MOST_CHARACTERS = 16_384;
const LONGEST_SUBJECT = 255;
/** How many tokens are remembered that were checked: a signature takes longer to check than all else of authentication. */
const MOST_KNOWN = 10_000;

export function createTokenReader(options: TokenReaderOptions): TokenReader {
  const { oidc, now, monotonic } = options;
  const keys = new IssuerKeys({ ...options, ...oidc, now: monotonic });
  const known = new BoundedMap<string, Known>(MOST_KNOWN);
  let provedBy: object | undefined;

  async function check(token: string): Promise<Known> {
    const { payload, protectedHeader: { typ = "JWT" } } = await jwtVerify(token, keys.find, {
      issuer: oidc.issuer,
      audience: oidc.audience,
      algorithms: oidc.algorithms,
      clockTolerance: oidc.clockToleranceMs / 1_000,
      currentDate: new Date(now()),
      requiredClaims: ["exp"],
    }).catch((thrown) => {
      throw refusalOf(thrown, oidc);
    });
    if (!ACCESS_TOKEN.test(typ)) refuse("The token is not an access token: its type is different");
    return { caller: callerOf(payload, oidc), expires: payload.exp! * 1_000 + oidc.clockToleranceMs };
  }

  return {
    async identify(token, digest) {
      if (token.length > MOST_CHARACTERS) refuse(`The token is longer than ${MOST_CHARACTERS} characters`);
      const current = keys.current();
      // A key that the issuer has taken back proves nothing any more.
      if (current !== provedBy) known.clear();
      provedBy = current;
      const earlier = known.get(digest);
      if (earlier && now() < earlier.expires) return earlier.caller;
      // Before its key is looked for: a token of another issuer has none here.
      if (issuerIn(token) !== oidc.issuer) refuse("The token is not from the issuer that this gateway trusts");
      const checked = await check(token);
      if (keys.current() === current) known.set(digest, checked);
      return checked.caller;
    },
  };
}

/** What a token for access is called, if anything. Others, such as those that report a logout, may have its claims. */
const ACCESS_TOKEN = /^(application\/)?(at\+)?jwt$/i;

/** No control characters: it stands in the log. */
const NAME = new RegExp(`^\\P{Cc}{1,${LONGEST_SUBJECT}}$`, "u");

/** Whom a token names. */
export interface Identity {
  subject: string;
  groups: readonly string[];
}

function callerOf(payload: JWTPayload, oidc: Oidc): Caller {
  return callerFor(identityIn(payload, oidc), oidc);
}

/** What the configuration lets one do. Throws `permission` where it admits none of the groups. */
export function callerFor({ subject, groups }: Identity, oidc: Oidc): Caller {
  return {
    ...grantsOf(new Set(groups), oidc.groups),
    name: `${OIDC_PREFIX}${subject}`,
    owner: `oidc:${digestOf(JSON.stringify([oidc.issuer, oidc.subjectClaim, subject]))}`,
  };
}

export function identityIn(payload: JWTPayload, { subjectClaim, groupsClaim }: Oidc): Identity {
  const subject = claimOf(payload, subjectClaim);
  if (typeof subject !== "string" || !NAME.test(subject) || !subject.isWellFormed()) {
    refuse(
      `The token names no caller: its claim "${subjectClaim}" must be a string of at most ${LONGEST_SUBJECT} characters`,
    );
  }
  return { subject, groups: [...namesIn(claimOf(payload, groupsClaim), groupsClaim)] };
}

/** Of the first group that the caller is in. */
function grantsOf(names: ReadonlySet<string>, groups: Oidc["groups"]): Omit<Oidc["groups"][number], "name"> {
  if (groups.length === 0) return {};
  const group = groups.find(({ name }) => name === "*" || names.has(name));
  if (!group) throw new GatewayError("permission", "The token names no group that this gateway admits");
  const { name: _, ...grants } = group;
  return grants;
}

/** The claim of the name, else the one at the path: names of claims may have dots in them. */
function claimOf(payload: JWTPayload, name: string): unknown {
  const own = (value: unknown, key: string) =>
    typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  return own(payload, name) ?? name.split(".").reduce(own, payload as unknown);
}

/** A scope is a list of words in one text; a group may have blanks in its name. */
function namesIn(claim: unknown, name: string): ReadonlySet<string> {
  if (typeof claim === "string") return new Set(name === "scope" || name === "scp" ? claim.split(" ") : [claim]);
  return new Set(Array.isArray(claim) ? claim.filter((one) => typeof one === "string") : []);
}

/** The library's errors as ours. Theirs hold the token's claims, so they are no cause of ours. */
export function refusalOf(
  thrown: unknown,
  { algorithms, audience }: Pick<Oidc, "algorithms" | "audience">,
): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError("authentication", messageFor(thrown, algorithms, audience));
}

function messageFor(thrown: unknown, algorithms: readonly string[], audience: readonly string[]): string {
  const { code, claim, reason } = Object(thrown) as Record<string, unknown>;
  switch (code) {
    case errors.JWTExpired.code:
      return "The token has expired";
    case errors.JWTClaimValidationFailed.code:
      if (reason === "missing" || reason === "invalid") return `The token has no valid claim "${claim}"`;
      if (claim === "nbf") return "The token is not valid yet";
      return `The token is not for this gateway: its audience must be ${
        audience.map((one) => `"${one}"`).join(" or ")
      }`;
    case errors.JOSEAlgNotAllowed.code:
      return `The token has the wrong signing algorithm: it must be ${algorithms.join(" or ")}`;
    case errors.JWSSignatureVerificationFailed.code:
      return "The token's signature does not match";
    case errors.JWKSMultipleMatchingKeys.code:
      return "The token does not name the key that it is signed with (kid), and its issuer has several";
    default:
      return "The token cannot be verified: it is not a signed JWT, or its key cannot be used";
  }
}

function refuse(message: string): never {
  throw new GatewayError("authentication", message);
}
