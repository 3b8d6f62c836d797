/** Identifies callers by tokens (JWT) of an OpenID Connect provider. Loaded when the first such token arrives. */
import * as errors from "jose/errors";
import type { JWTPayload } from "jose";
import { jwtVerify } from "jose/jwt/verify";
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
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
}

interface Known {
  caller: Caller;
  /** Milliseconds since the epoch. */
  expires: number;
}

/** Tokens with hundreds of groups have about 10,000. */
export const MOST_CHARACTERS = 16_384;
const LONGEST_SUBJECT = 255;
/** How many checked tokens are cached. Checking a signature takes longer than the rest of authentication. */
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
      // A key that the issuer has withdrawn proves nothing any more.
      if (current !== provedBy) known.clear();
      provedBy = current;
      const earlier = known.get(digest);
      if (earlier && now() < earlier.expires) return earlier.caller;
      // Checked before its key is looked up, because a token of another issuer has no key here.
      if (issuerIn(token) !== oidc.issuer) refuse("The token is not from the issuer that this gateway trusts");
      const checked = await check(token);
      if (keys.current() === current) known.set(digest, checked);
      return checked.caller;
    },
  };
}

/** The type of an access token, if it has one. Other tokens, such as those that report a logout, may have the same claims. */
const ACCESS_TOKEN = /^(application\/)?(at\+)?jwt$/i;

/** No control characters, because the name appears in the log. */
const NAME = new RegExp(`^\\P{Cc}{1,${LONGEST_SUBJECT}}$`, "u");

/** The person or program that a token names. */
export interface Identity {
  subject: string;
  groups: readonly string[];
}

function callerOf(payload: JWTPayload, oidc: Oidc): Caller {
  return callerFor(identityIn(payload, oidc), oidc);
}

/** The caller with the rights that the configuration grants. Throws `permission` if it admits none of the groups. */
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

/** The grants of the first configured group that the caller belongs to. */
function grantsOf(names: ReadonlySet<string>, groups: Oidc["groups"]): Omit<Oidc["groups"][number], "name"> {
  if (groups.length === 0) return {};
  const group = groups.find(({ name }) => name === "*" || names.has(name));
  if (!group) throw new GatewayError("permission", "The token names no group that this gateway admits");
  const { name: _, ...grants } = group;
  return grants;
}

/** The claim with this name, or else at this path. Names of claims may contain dots. */
function claimOf(payload: JWTPayload, name: string): unknown {
  const own = (value: unknown, key: string) =>
    typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  return own(payload, name) ?? name.split(".").reduce(own, payload as unknown);
}

/** A scope is a list of words in one text, but the name of a group may contain spaces. */
function namesIn(claim: unknown, name: string): ReadonlySet<string> {
  if (typeof claim === "string") return new Set(name === "scope" || name === "scp" ? claim.split(" ") : [claim]);
  return new Set(Array.isArray(claim) ? claim.filter((one) => typeof one === "string") : []);
}

/** Converts the library's errors. Those contain the token's claims, so they are not kept as the cause. */
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
