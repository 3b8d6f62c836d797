import type { z } from "zod";
import { isRawNumber } from "../canonical/raw_number.ts";
import { GatewayError } from "../errors.ts";
import { checkerOf, checkers, compiler } from "./compiled.ts";

/** Checks what a client sent against `schema`. Throws `invalid_request` with the path of the field: `messages[0].content`. */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  const checker = checkers.get(schema) ?? (compiler ? checkerOf(schema) : schema);
  const result = checker.safeParse(value, FIRST_MISTAKE);
  if (result.success) return result.data as T;
  const mistake = deepest(result.error.issues, value);
  const param = formatPath(mistake.path);
  const where = param === "" ? "Invalid request" : `Invalid value at "${param}"${ownerOf(mistake.path, value)}`;
  const message = `${where}: ${describe(mistake, valueAt(mistake.path, value))}`;
  throw new GatewayError("invalid_request", message, { ...(param && { param }) });
}

/** Checks what an upstream sent against `schema`. `undefined` if it does not match. */
export function accept<T>(schema: z.ZodType<T>, value: unknown): T | undefined {
  const checker = checkers.get(schema) ?? (compiler ? checkerOf(schema) : schema);
  return checker.safeParse(value, FIRST_MISTAKE).data as T | undefined;
}

/**
 * Stops at the first error that aborts. Collecting every error in a body full of errors costs a hundred times as much
 * as checking a valid body. Zod's public types do not have this option.
 */
const FIRST_MISTAKE = { abortEarly: true } as z.core.ParseContext<z.core.$ZodIssue>;

/** `["messages", 0, "content"]` as `messages[0].content`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, position) =>
      typeof step === "number" ? `[${step}]` : position === 0 ? String(step) : `.${String(step)}`
    )
    .join("");
}

/** The error at one path. */
interface Mistake {
  path: PropertyKey[];
  /** The values that are valid there, in words. Empty if `complaints` describe the error. */
  expected: string[];
  /** The schema's own messages. */
  complaints: string[];
  /** Whether the value's `type` names another kind of object. */
  isOtherKind: boolean;
}

/** The first error. For a union, the error of the most likely branch, with everything that is valid where it fails. */
function deepest(issues: readonly z.core.$ZodIssue[], value: unknown, prefix: PropertyKey[] = []): Mistake {
  const issue = issues.find(isOfOtherKind) ?? issues[0]!;
  const path = [...prefix, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return mistakeOf(issue, path);
  const branches = issue.errors.filter((branch) => branch.length > 0).map((branch) => deepest(branch, value, path));
  const isMissing = (one: Mistake) => valueAt(one.path, value) === undefined;
  const [best] = branches.toSorted((a, b) =>
    b.path.length - a.path.length || Number(a.isOtherKind) - Number(b.isOtherKind) ||
    Number(isMissing(a)) - Number(isMissing(b))
  );
  if (!best) return mistakeOf(issue, path);
  const param = formatPath(best.path);
  const same = branches.filter((one) => formatPath(one.path) === param);
  return {
    path: best.path,
    expected: [...new Set(same.flatMap(({ expected }) => expected))],
    complaints: [...new Set(same.flatMap(({ complaints }) => complaints))],
    isOtherKind: same.every(({ isOtherKind }) => isOtherKind),
  };
}

function mistakeOf(issue: z.core.$ZodIssue, path: PropertyKey[]): Mistake {
  const expected = expectedBy(issue);
  const complaints = expected.length > 0 ? [] : [sizeIn(issue) ?? issue.message.replace(/^Invalid input: /, "")];
  return { path, expected, complaints, isOtherKind: isOfOtherKind(issue) };
}

/** Whether the object's `type` names another kind than the schema describes. */
function isOfOtherKind({ code, path }: z.core.$ZodIssue): boolean {
  return (code === "invalid_value" || code === "custom") && path.length === 1 && path[0] === "type";
}

function expectedBy(issue: z.core.$ZodIssue): string[] {
  switch (issue.code) {
    case "invalid_type":
      return [WORD_OF[issue.expected] ?? issue.expected];
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value));
    case "invalid_union":
      return ((issue as { options?: readonly unknown[] }).options ?? []).map((value) => JSON.stringify(value));
    case "custom":
      return typeof issue.params?.expected === "string" ? [issue.params.expected] : [];
    default:
      return [];
  }
}

const WORD_OF: Readonly<Record<string, string>> = { int: "integer" };

/** "must have at least 1 item", if a value is too small or too big. */
export function sizeIn(issue: z.core.$ZodIssue | z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  const isSmall = issue.code === "too_small";
  const { origin, inclusive } = issue;
  const limit = Number(isSmall ? issue.minimum : issue.maximum);
  const unit = { array: "item", string: "character" }[String(origin)];
  if (unit) return `must have at ${isSmall ? "least" : "most"} ${limit} ${unit}${limit === 1 ? "" : "s"}`;
  if (inclusive) return `must be at ${isSmall ? "least" : "most"} ${limit}`;
  return `must be ${isSmall ? "greater" : "less"} than ${limit}`;
}

/** "expected string or array, received 3". */
function describe({ expected, complaints }: Mistake, value: unknown): string {
  if (expected.length === 0) return complaints.join(", or ");
  const words = expected.length === 1 ? expected[0] : `${expected.slice(0, -1).join(", ")} or ${expected.at(-1)}`;
  return `expected ${words}, received ${inWords(value)}`;
}

const LONGEST_VALUE = 40;

/** Describes a value that a client sent, briefly enough for an error message. */
function inWords(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "array";
  const isRaw = isRawNumber(value);
  if (typeof value === "object" && value !== null && !isRaw) return "object";
  const json = JSON.stringify(value);
  return json.length <= LONGEST_VALUE ? json : isRaw ? "number" : typeof value;
}

function valueAt(path: readonly PropertyKey[], value: unknown): unknown {
  return path.reduce<unknown>(
    (inner, step) => isRecord(inner) && Object.hasOwn(inner, step) ? inner[step] : undefined,
    value,
  );
}

/** In a long list, an index says little. This names the object around the field, such as a tool. */
function ownerOf(path: readonly PropertyKey[], value: unknown): string {
  const owners = path.map((_, depth) => valueAt(path.slice(0, depth), value)).slice(1);
  const name = owners.filter(isRecord).map((owner) => owner.name).findLast((one) => typeof one === "string");
  return typeof name === "string" && name !== "" && name.length <= LONGEST_VALUE ? ` of ${JSON.stringify(name)}` : "";
}

function isRecord(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null;
}
