/** The section of the configuration for callers who bring tokens of an OpenID Connect provider, and its second pass. */
import { z } from "zod";
import { asList, asObject, isJsonObject, type JsonObject } from "../canonical/json.ts";
import { object, secretSchema } from "./fields.ts";
import { hint } from "./hint.ts";
import { OIDC_PREFIX } from "./key_name.ts";

/** Signatures that are checked with a public key. With the others, whoever can check a token can make one. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** Whoever can change the keys on their way can make tokens, so they come by TLS or from this machine. */
function isSafe(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

const providerUrlSchema = z.url({ protocol: /^https?$/, error: "Expected an https URL", abort: true })
  .refine(isSafe, "Expected an https URL: plain http is for this machine alone")
  .refine((text) => {
    const { username, password, hash } = new URL(text);
    return username + password + hash === "";
  }, "Expected a URL without credentials and fragment");

const claimSchema = (preset: string, description: string) => z.string().min(1).default(preset).meta({ description });

const consoleClientSchema = object(
  "Lets operators log in to the console with the provider. Their group needs operator: true.",
  {
    clientId: z.string().min(1).meta({ description: "The console's client id at the provider." }),
    secret: secretSchema.optional().meta({ description: "The client's secret; none for a public client." }),
    authMethod: z.enum(["client_secret_basic", "client_secret_post", "private_key_jwt"])
      .default("client_secret_basic").meta({
        description:
          "How the client authenticates at the token endpoint, with its secret. For private_key_jwt the secret is a " +
          "private key, as JWK or PEM.",
      }),
    url: providerUrlSchema.meta({
      description: "The console's URL in browsers. The provider redirects them to callback below it.",
      examples: ["https://gateway.example.com/console"],
    }),
    scopes: z.array(z.string().min(1)).min(1).default(["openid", "profile"]).meta({
      description: "The scopes to request: openid, and those that put the groups into the ID token.",
    }),
    tokenUrl: providerUrlSchema.optional().meta({
      description: "The provider's token endpoint, if it has another origin than the issuer.",
    }),
  },
);

/** `grants`: what a key may be given, which is what a group may be given. */
export function oidcSchema<Grants extends z.core.$ZodLooseShape>(grants: Grants) {
  const groupSchema = object("What callers of a group may do.", {
    name: z.string().min(1).meta({ description: "The group, as tokens name it. * stands for every caller." }),
    ...grants,
  });
  return object("Admits callers with tokens (JWT) of an OpenID Connect provider, in addition to keys.", {
    issuer: providerUrlSchema.meta({
      description: "The provider, exactly as its tokens name it in iss.",
      examples: ["https://login.example.com/realms/acme"],
    }),
    audience: z.array(z.string().min(1)).min(1).meta({
      description: "The accepted audiences: one of them must be in aud.",
      examples: [["laneway"]],
    }),
    algorithms: z.array(z.enum(ALGORITHMS)).min(1).default([...ALGORITHMS]).meta({
      description: "The accepted signature algorithms.",
    }),
    jwksUrl: providerUrlSchema.optional().meta({
      description:
        "The URL of the provider's keys. By default the one in the discovery document, which must be at the issuer's " +
        "origin.",
    }),
    clockToleranceMs: z.int().min(0).max(300_000).default(30_000).meta({
      description: "How far the clocks of the provider and the gateway may differ, in milliseconds.",
    }),
    subjectClaim: claimSchema(
      "sub",
      "The claim that identifies the caller, in limits, usage, logs and stored responses. Its value must never " +
        "change, and callers must not be able to choose it.",
    ),
    groupsClaim: claimSchema(
      "groups",
      "The claim with the caller's groups: a list of names, or one name. It may be nested: realm_access.roles.",
    ),
    console: consoleClientSchema.optional(),
    groups: z.array(groupSchema).default([]).meta({
      description:
        "What callers may do, by group. The first entry that names one of the caller's groups counts; a caller " +
        "without one is refused. Without entries, every caller may do everything except what operators may.",
    }),
  });
}

/** The names that refer to nothing, and those that stand twice. */
export function* oidcProblems(config: Record<string, unknown>): Generator<{ path: string; message: string }, void> {
  if (!isJsonObject(config.oidc)) return;
  yield* clientProblems(asObject(config.oidc.console));
  const lanes = Object.keys(asObject(config.lanes));
  const names = new Set<unknown>();
  for (const [index, group] of asList(config.oidc.groups).entries()) {
    const path = `oidc.groups[${index}]`;
    const { name, lanes: opened, team } = asObject(group);
    const teams = Object.keys(asObject(config.teams));
    if (typeof team === "string" && !teams.includes(team)) {
      yield { path: `${path}.team`, message: `Cannot find team "${team}"${hint(team, teams)}` };
    }
    if (names.has(name)) yield { path: `${path}.name`, message: `Two groups have the name "${name}"` };
    if (typeof name === "string") names.add(name);
    for (const [position, lane] of asList(opened).entries()) {
      if (typeof lane !== "string" || lanes.includes(lane)) continue;
      yield { path: `${path}.lanes[${position}]`, message: `Cannot find lane "${lane}"${hint(lane, lanes)}` };
    }
  }
  for (const [index, key] of asList(config.keys).entries()) {
    const { name } = asObject(key);
    if (typeof name !== "string" || !name.startsWith(OIDC_PREFIX)) continue;
    const message = `A key's name cannot begin with "${OIDC_PREFIX}", because callers with tokens are called so`;
    yield { path: `keys[${index}].name`, message };
  }
}

function* clientProblems({ authMethod, secret }: JsonObject): Generator<{ path: string; message: string }, void> {
  if (authMethod === undefined || secret !== undefined) return;
  yield { path: "oidc.console.authMethod", message: 'It has no use without "secret"' };
}
