/** Kinds of fields that several sections of the configuration have. */
import { z } from "zod";
import { HEADER_NAME } from "../util/urls_and_headers.ts";
import { hint } from "./hint.ts";

/** One line for each unknown key, in the order of the issue's `keys`. */
export function unknownKeys(known: readonly string[]) {
  return (issue: z.core.$ZodRawIssue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `Unknown setting${insteadOf(key, known) ?? hint(key, known)}`).join("\n")
      : undefined;
}

const NAMES_OF_SECRETS = /^(api|access|auth|bearer)?[-_ ]?(key|token|secret|authorization|password)$/i;

/** Other programs have their secrets under these names, and in the file itself. */
function insteadOf(key: string, known: readonly string[]): string | undefined {
  if (!known.includes("secret") || !NAMES_OF_SECRETS.test(key)) return undefined;
  return '; use "secret": { "env": "NAME" }, with the name of the variable that holds it';
}

export function object<Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) {
  return z.strictObject(shape, { error: unknownKeys(Object.keys(shape)) }).meta({ description });
}

export function milliseconds(preset: number, description: string, least = 1) {
  // The platform's timers have 32 bits: a longer time would fire at once.
  return z.int().min(least).max(2_147_483_647).default(preset).meta({ description });
}

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether an environment variable can have the name. The platform throws for some invalid names. */
export function isVariableName(name: string): boolean {
  return VARIABLE_NAME.test(name);
}

export const secretError = () => `Expected { "env": "NAME" }: a secret itself is never written here`;

const secretPlaces = {
  env: z.string().regex(VARIABLE_NAME, "Expected the name of an environment variable").optional().meta({
    description: "Name of the environment variable that holds the secret.",
    examples: ["LANEWAY_KEY"],
  }),
  file: z.string().min(1).optional().meta({
    description:
      "The file that holds the secret and nothing else, instead of a variable. A gateway that was started with a " +
      "configuration file reads it again when it changes.",
    examples: ["/run/secrets/token"],
  }),
};

function isInOnePlace({ env, file }: { env?: string; file?: string }): boolean {
  return (env === undefined) !== (file === undefined);
}

export const secretSchema = z.strictObject(secretPlaces, { error: secretError })
  .refine(isInOnePlace, { error: secretError })
  .meta({ description: "Where the secret is. The secret itself is never in the configuration." });

const urlSchema = z.url({ protocol: /^https?$/, error: "Expected an http or https URL", abort: true });

export const baseUrlSchema = urlSchema
  .refine((text) => {
    const { username, password, search, hash } = new URL(text);
    return username + password + search + hash === "";
  }, "Expected a URL without credentials, query and fragment")
  .overwrite((text) => text.replace(/\/+$/, ""))
  .meta({
    description: "The URL to which paths are appended, usually ending in /v1.",
    examples: ["http://127.0.0.1:8080/v1"],
  });

/** The URL may have a query, which some services expect in every call. */
export const serviceUrlSchema = urlSchema
  .refine((text) => {
    const { username, password, hash } = new URL(text);
    return username + password + hash === "";
  }, "Expected a URL without credentials and fragment")
  .overwrite((text) => text.replace(/^([^?]*?)\/+(?=\?|$)/, "$1"))
  .meta({
    description:
      "The URL to which paths are appended, usually ending in /v1. Its query, if any, follows each path. Required by " +
      "drivers that make calls.",
    examples: ["http://127.0.0.1:8080/v1"],
  });

export const headerNameSchema = z.string().regex(HEADER_NAME, "Expected the name of a header");

/** The secret of a service, and where it is sent. */
export const serviceSecretSchema = z.strictObject({
  ...secretPlaces,
  header: headerNameSchema.optional().meta({
    description:
      "The header that carries the secret, such as api-key. In authorization it is a bearer token. By default the " +
      "driver chooses: x-api-key for messages, else authorization.",
    examples: ["api-key"],
  }),
  query: z.string().min(1).optional().meta({
    description: "The URL parameter that carries the secret, instead of a header.",
    examples: ["key"],
  }),
}, { error: secretError })
  .refine(isInOnePlace, { error: secretError })
  .refine(({ header, query }) => header === undefined || query === undefined, "Expected a header or a query, not both")
  .meta({ description: "Where the secret is, and how it is sent. The secret itself is never in the configuration." });

const ORIGIN = /^https?:\/\/(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;

/** Origins from which data is fetched without a credential. */
export function origins(example: string) {
  return z.array(z.string().regex(ORIGIN, `Expected an origin such as "${example}"`)).default([]);
}
