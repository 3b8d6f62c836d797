/**
 * Validates values against JSON Schema. The values come from a model and the schemas from clients, so neither is
 * trusted.
 */
import { asObject, isJsonObject, type JsonObject, type JsonValue, toJsonText } from "../canonical/json.ts";
import { compareNumbers, isMultiple, isNumber, isRawNumber, toDouble } from "../canonical/raw_number.ts";
import {
  type Budget,
  digitsOf,
  isOfType,
  isSame,
  lengthOf,
  listOf,
  look,
  lookAt,
  resolve,
  shorten,
  shortenText,
  sizeOf,
  spell,
} from "./json_schema_values.ts";

export { type Budget, newBudget } from "./json_schema_values.ts";

export interface SchemaCheck {
  /** The first problems with their paths; empty if the value is valid. */
  problems: string[];
  /** Keywords that were not checked, so the value may violate them. */
  unread: string[];
}

const MOST_PROBLEMS = 5;
const DEEPEST = 200;

export function checkSchema(value: JsonValue, schema: JsonObject, budget: Budget): SchemaCheck {
  const run: Run = { root: schema, unread: new Set(), passed: 0, budget, depth: 0 };
  const problems = problemsOf(value, schema, "$", run).slice(0, MOST_PROBLEMS);
  return { problems, unread: [...run.unread] };
}

/** Whether the value is certainly valid. Without a schema, every value is. */
export function fits(schema: JsonObject | undefined, value: JsonValue, budget: Budget): boolean {
  if (!schema) return true;
  const { problems, unread } = checkSchema(value, schema, budget);
  return problems.length === 0 && !unread.includes("all");
}

interface Run {
  root: JsonObject;
  unread: Set<string>;
  /** How often a keyword was skipped. What passed may then be invalid, and `not` cannot be applied. */
  passed: number;
  budget: Budget;
  depth: number;
}

function problemsOf(value: JsonValue, schema: JsonValue | undefined, at: string, run: Run): string[] {
  if (schema === false) return [`${at} is not allowed`];
  // As in OpenAPI.
  if (!isJsonObject(schema) || (schema.nullable === true && value === null)) return [];
  if (--run.budget.steps < 0 || run.depth >= DEEPEST) return passOver("all", run);
  run.depth++;
  const problems: string[] = [];
  for (const [keyword, argument] of Object.entries(schema)) {
    if (argument === undefined) continue;
    if (UNREAD.has(keyword)) passOver(keyword, run);
    else if (Object.hasOwn(RULES, keyword)) {
      look(sizeOf(value) + sizeOf(argument), run);
      if (run.budget.looks < 0) {
        passOver("all", run);
        break;
      }
      for (const problem of RULES[keyword]!({ value, argument, at, schema, run })) problems.push(problem);
    }
    if (problems.length >= MOST_PROBLEMS) break;
  }
  run.depth--;
  return problems;
}

function passOver(keyword: string, run: Run): string[] {
  run.unread.add(keyword);
  run.passed++;
  return [];
}

/** Patterns are not tried, because an untrusted one may take forever. */
const UNREAD: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "dependencies",
  "dependentSchemas",
  "unevaluatedItems",
  "unevaluatedProperties",
  "$dynamicRef",
  "$recursiveRef",
]);

interface Question {
  value: JsonValue;
  argument: JsonValue;
  at: string;
  /** The schema that contains the keyword. */
  schema: JsonObject;
  run: Run;
}
type Rule = (question: Question) => string[];

/** No other keyword decides whether a value is valid. `format` does so only by agreement. */
const RULES: Readonly<Record<string, Rule>> = {
  $ref({ value, argument, at, run }) {
    look(toJsonText(argument).length, run);
    const target = typeof argument === "string" ? resolve(argument, run.root) : undefined;
    if (target !== undefined) return problemsOf(value, target, at, run);
    return passOver("$ref", run);
  },
  type({ value, argument, at }) {
    const types = listOf(argument).map(String);
    return types.some((type) => isOfType(value, type)) ? [] : [`${at} must be of type ${types.join(" or ")}`];
  },
  enum: ({ value, argument, at, run }) =>
    listOf(argument).some((one) => isSame(value, one, run)) ? [] : [`${at} must be one of ${shorten(argument, run)}`],
  const: ({ value, argument, at, run }) =>
    isSame(value, argument, run) ? [] : [`${at} must be ${shorten(argument, run)}`],

  anyOf: ({ value, argument, at, run }) => anyOf(listOf(argument), value, at, run),
  oneOf({ value, argument, at, run }) {
    const { passed } = run;
    const fitting = listOf(argument).filter((one) => problemsOf(value, one, at, run).length === 0).length;
    if (fitting === 0) return anyOf(listOf(argument), value, at, run);
    return fitting > 1 && run.passed === passed ? [`${at} matches several alternatives, but must match one`] : [];
  },
  allOf: ({ value, argument, at, run }) => listOf(argument).flatMap((one) => problemsOf(value, one, at, run)),
  not({ value, argument, at, run }) {
    const { passed } = run;
    const fits = problemsOf(value, argument, at, run).length === 0;
    return fits && run.passed === passed ? [`${at} matches what it must not match`] : [];
  },
  if({ value, argument, at, schema, run }) {
    const { passed } = run;
    const branch = problemsOf(value, argument, at, run).length === 0 ? schema.then : schema.else;
    return run.passed === passed ? problemsOf(value, branch, at, run) : [];
  },

  properties({ value, argument, at, run }) {
    if (!isJsonObject(value) || !isJsonObject(argument)) return [];
    return Object.entries(argument)
      .filter(([name]) => Object.hasOwn(value, name))
      .flatMap(([name, schema]) => problemsOf(value[name]!, schema, `${at}.${name}`, run));
  },
  required({ value, argument, at }) {
    if (!isJsonObject(value)) return [];
    return listOf(argument).filter((name) => !Object.hasOwn(value, String(name))).map((name) =>
      `${at}.${name} is missing`
    );
  },
  additionalProperties({ value, argument, at, schema, run }) {
    if (!isJsonObject(value) || schema.patternProperties) return [];
    const known = asObject(schema.properties);
    return Object.entries(value)
      .filter(([name]) => !Object.hasOwn(known, name))
      .flatMap(([name, one]) => problemsOf(one!, argument, `${at}.${shortenText(name)}`, run));
  },
  propertyNames: ({ value, argument, at, run }) =>
    isJsonObject(value) ? Object.keys(value).flatMap((name) => problemsOf(name, argument, at, run)) : [],
  dependentRequired({ value, argument, at }) {
    if (!isJsonObject(value) || !isJsonObject(argument)) return [];
    return Object.entries(argument)
      .filter(([name]) => Object.hasOwn(value, name))
      .flatMap(([, names]) => listOf(names).filter((name) => !Object.hasOwn(value, String(name))))
      .map((name) => `${at}.${name} is missing`);
  },
  minProperties: ({ value, argument, at }) =>
    atLeast(isJsonObject(value) && Object.keys(value).length, argument, at, "properties"),
  maxProperties: ({ value, argument, at }) =>
    atMost(isJsonObject(value) && Object.keys(value).length, argument, at, "properties"),

  prefixItems: ({ value, argument, at, run }) => inOrder(value, listOf(argument), at, run),
  items({ value, argument, at, schema, run }) {
    if (!Array.isArray(value)) return [];
    if (Array.isArray(argument)) return inOrder(value, argument, at, run);
    const before = listOf(schema.prefixItems).length;
    return value.slice(before).flatMap((one, index) => problemsOf(one, argument, `${at}[${before + index}]`, run));
  },
  additionalItems({ value, argument, at, schema, run }) {
    if (!Array.isArray(value) || !Array.isArray(schema.items)) return [];
    const before = schema.items.length;
    return value.slice(before).flatMap((one, index) => problemsOf(one, argument, `${at}[${before + index}]`, run));
  },
  contains({ value, argument, at, schema, run }) {
    if (!Array.isArray(value)) return [];
    const found = value.filter((one) => problemsOf(one, argument, at, run).length === 0).length;
    const least = typeof schema.minContains === "number" ? schema.minContains : 1;
    const most = typeof schema.maxContains === "number" ? schema.maxContains : Infinity;
    return found >= least && found <= most ? [] : [`${at} has too few or too many matching items`];
  },
  minItems: ({ value, argument, at }) => atLeast(Array.isArray(value) && value.length, argument, at, "items"),
  maxItems: ({ value, argument, at }) => atMost(Array.isArray(value) && value.length, argument, at, "items"),
  uniqueItems({ value, argument, at, run }) {
    if (argument !== true || !Array.isArray(value)) return [];
    const different = new Set(value.map((one) => spell(one, run)));
    return different.size < value.length ? [`${at} must not have duplicate items`] : [];
  },

  minLength: ({ value, argument, at }) => atLeast(lengthOf(value), argument, at, "characters"),
  maxLength: ({ value, argument, at }) => atMost(lengthOf(value), argument, at, "characters"),

  minimum: ({ value, argument, at, schema, run }) =>
    isPast(value, argument, -1, schema.exclusiveMinimum === true, run)
      ? [`${at} is too small: the minimum is ${shorten(argument, run)}`]
      : [],
  maximum: ({ value, argument, at, schema, run }) =>
    isPast(value, argument, 1, schema.exclusiveMaximum === true, run)
      ? [`${at} is too large: the maximum is ${shorten(argument, run)}`]
      : [],
  exclusiveMinimum: ({ value, argument, at, run }) =>
    isPast(value, argument, -1, true, run) ? [`${at} must be more than ${shorten(argument, run)}`] : [],
  exclusiveMaximum: ({ value, argument, at, run }) =>
    isPast(value, argument, 1, true, run) ? [`${at} must be less than ${shorten(argument, run)}`] : [],
  multipleOf({ value, argument, at, run }) {
    if (!isNumber(value) || !isNumber(argument) || toDouble(argument) <= 0) return [];
    look(digitsOf(value) + digitsOf(argument), run);
    const isRaw = isRawNumber(value) || isRawNumber(argument);
    return (isRaw ? isMultiple(value, argument) : isNearMultiple(value, argument))
      ? []
      : [`${at} must be a multiple of ${shorten(argument, run)}`];
  },
};

/** Whether a number is beyond a limit: below it if `side` is -1, above it if `side` is 1. */
function isPast(value: JsonValue, limit: JsonValue, side: -1 | 1, isOpen: boolean, run: Run): boolean {
  if (!isNumber(value) || !isNumber(limit)) return false;
  look(digitsOf(value) + digitsOf(limit), run);
  const order = side * compareNumbers(value, limit);
  return order > 0 || (isOpen && order === 0);
}

/** Tolerates binary rounding, so that 0.3 counts as a multiple of 0.1. */
function isNearMultiple(value: number, of: number): boolean {
  const times = value / of;
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}

/** The problems with the best matching alternative, which is most likely the intended one. */
function anyOf(alternatives: readonly JsonValue[], value: JsonValue, at: string, run: Run): string[] {
  let best: string[] = [];
  let deepest = 0;
  for (const one of alternatives) {
    const problems = problemsOf(value, one, at, run);
    if (problems.length === 0) return [];
    look(lookAt(problems[0]!), run);
    const depth = depthOf(problems);
    if (depth > deepest) [best, deepest] = [problems, depth];
  }
  return best;
}

/** The depth of the first problem. */
function depthOf([first = ""]: readonly string[]): number {
  let depth = 1;
  for (let at = 0; at < first.length && first[at] !== " "; at++) if (first[at] === "." || first[at] === "[") depth++;
  return depth;
}

function inOrder(value: JsonValue, schemas: readonly JsonValue[], at: string, run: Run): string[] {
  if (!Array.isArray(value)) return [];
  return schemas.slice(0, value.length).flatMap((one, index) => problemsOf(value[index]!, one, `${at}[${index}]`, run));
}

function atLeast(size: number | false, least: JsonValue, at: string, what: string): string[] {
  if (size === false || !isNumber(least)) return [];
  const wanted = toDouble(least);
  return size < wanted ? [`${at} must have ${wanted} ${what} or more`] : [];
}

function atMost(size: number | false, most: JsonValue, at: string, what: string): string[] {
  if (size === false || !isNumber(most)) return [];
  const wanted = toDouble(most);
  return size > wanted ? [`${at} must have ${wanted} ${what} or fewer`] : [];
}
