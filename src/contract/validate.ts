import type { z } from "zod";
import { GatewayError } from "../errors.ts";

/** What a client sent, as `schema` has it; else `invalid_request` that names the field's path: `messages[0].content`. */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  if (isTooWide(value)) throw new GatewayError("invalid_request", `An object has more than ${MOST_FIELDS} fields`);
  if (itemsIn(value) > MOST_ITEMS) {
    throw new GatewayError("invalid_request", `The request's lists have more than ${MOST_ITEMS} items`);
  }
  const result = tryParse(schema, value);
  if (!result) throw new GatewayError("invalid_request", "The request has more mistakes than can be told");
  if (result.success) return result.data;
  const { path, message } = deepest(result.error.issues);
  const param = formatPath(path);
  throw new GatewayError("invalid_request", param === "" ? message : `Invalid value at "${param}": ${message}`, {
    ...(param && { param }),
  });
}

/** More than any conversation has. The library notes each mistake, and a body of nothing else would take gigabytes. */
const MOST_ITEMS = 250_000;

/** The items of all lists in the value; those of one that is too long itself are not looked into. */
function itemsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = Array.isArray(value) ? value.length : 0;
  if (count > MOST_ITEMS) return count;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) count += itemsIn(inner);
  return count;
}

/** The library takes a second and more for an object of some hundred thousand fields that it does not know. */
const MOST_FIELDS = 25_000;

/** Whether any object in the value has more fields than a request may have. */
function isTooWide(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const inner = Array.isArray(value) ? value : Object.values(value);
  return (inner !== value && inner.length > MOST_FIELDS) || inner.some(isTooWide);
}

/** What an upstream sent, as `schema` has it; nothing where it is something else. */
export function accept<T>(schema: z.ZodType<T>, value: unknown): T | undefined {
  return tryParse(schema, value)?.data;
}

/** A list of more problems than a call takes arguments is too long for the library, which throws. */
function tryParse<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> | undefined {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** `["messages", 0, "content"]` as `messages[0].content`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, position) =>
      typeof step === "number" ? `[${step}]` : position === 0 ? String(step) : `.${String(step)}`
    )
    .join("");
}

interface Found {
  path: PropertyKey[];
  message: string;
}

/** Of all that is wrong, the first issue; of a union, the branch that got furthest, because it is the one that was meant. */
function deepest(issues: readonly z.core.$ZodIssue[], prefix: PropertyKey[] = []): Found {
  const issue = issues[0]!;
  const path = [...prefix, ...issue.path];
  if (issue.code !== "invalid_union") return { path, message: issue.message };
  const branches = issue.errors.filter((branch) => branch.length > 0).map((branch) => deepest(branch, path));
  const best = branches.reduce<Found | undefined>(
    (far, found) => far === undefined || found.path.length > far.path.length ? found : far,
    undefined,
  );
  return best && best.path.length > path.length
    ? best
    : { path, message: [...new Set(branches.map((found) => found.message))].join(", or ") || issue.message };
}
