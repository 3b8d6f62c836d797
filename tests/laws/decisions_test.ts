/** Laws of decisions: every shape over every way agrees, in order, with values as they were asked. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { chatAnswer, chosen, configFor, type Setup } from "../support/decisions.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

type Value = string | boolean;
interface Asked {
  name: string;
  values: Value[];
  kind: "predicate" | "choice" | "score";
  /** How likely each answer is, in parts of their sum. */
  weights: number[];
}

/** Objects put names that are numbers first, wherever they were written. */
const names = fc.string({ minLength: 1, maxLength: 6 }).filter((one) => !/^(?:\d+|__proto__)$/.test(one));
const weight = fc.integer({ min: 1, max: 1_000 });
const weightsFor = (count: number) => fc.array(weight, { minLength: count, maxLength: count });
const asking = (kind: Asked["kind"], values: fc.Arbitrary<Value[]>) =>
  values.chain((values) =>
    fc.record({ name: names, kind: fc.constant(kind), values: fc.constant(values), weights: weightsFor(values.length) })
  );

/** `booleans`: whether values may be. */
const questions = (booleans: boolean) =>
  fc.uniqueArray(
    fc.oneof(
      asking("predicate", fc.constant(["yes", "no"])),
      asking(
        "choice",
        fc.uniqueArray<Value, Value>(
          booleans ? fc.oneof(names, fc.constantFrom("true", "false"), fc.boolean()) : names,
          {
            selector: (value) => value,
            minLength: 2,
            maxLength: 8,
          },
        ),
      ),
      asking("score", fc.array(names, { minLength: 2, maxLength: 10 })),
    ),
    { minLength: 1, maxLength: 6, selector: ({ name }) => name },
  );

/** Question number `index` is known by its words wherever it gets. */
const wordsOf = (index: number) => `#${index}#`;

interface Client {
  path: string;
  booleans: boolean;
  body(asked: readonly Asked[]): JsonObject;
  // deno-lint-ignore no-explicit-any -- an answer of any shape
  read(answer: any, asked: readonly Asked[]): { shares: number[]; choice?: unknown }[];
}

const named = (asked: readonly Asked[], one: (asked: Asked, index: number) => JsonObject) =>
  Object.fromEntries(asked.map((each, index) => [each.name, one(each, index)]));

const systemone: Client = {
  path: "/oss/v1/systemone",
  booleans: false,
  body: (asked) => ({
    state: "x",
    questions: named(asked, ({ kind, values }, index) => {
      const instructions = wordsOf(index);
      if (kind === "predicate") return { type: "noul", instructions };
      if (kind === "score") return { type: "score", instructions, criteria: values };
      return { type: "choice", instructions, criteria: Object.fromEntries(values.map((one) => [one, null])) };
    }),
  }),
  read: ({ answers }, asked) =>
    asked.map(({ name, kind, values }) => {
      const { noul, choice, probabilities } = answers[name];
      if (kind === "predicate") return { shares: [noul, 1 - noul] };
      if (kind === "score") return { shares: values.map((_, level) => probabilities[level]) };
      return { shares: values.map((one) => probabilities[String(one)]), choice };
    }),
};

const CLIENTS: Record<string, Client> = {
  list: {
    path: "/oss/v1/decisions",
    booleans: true,
    body: (asked) => ({
      input: "x",
      questions: asked.map(({ name, kind, values }, index) => ({
        type: kind,
        name,
        instructions: wordsOf(index),
        ...(kind === "choice" && { choices: values.map((value) => ({ value })) }),
        ...(kind === "score" && { levels: values.map((label) => ({ label })) }),
      })),
    }),
    read: ({ answers }, asked) =>
      asked.map(({ name, kind, values }, index) => {
        const answer = answers[index];
        assertEquals([answer.name, answer.type], [name, kind]);
        if (kind === "predicate") return { shares: [answer.probability, 1 - answer.probability] };
        const shown = answer.probabilities.map((one: { value: Value; label: string }) =>
          kind === "score" ? one.label : one.value
        );
        assertEquals(shown, values);
        return {
          shares: answer.probabilities.map(({ probability }: { probability: number }) => probability),
          choice: answer.choice,
        };
      }),
  },
  "list by id": {
    path: "/oss/v1/decisions",
    booleans: false,
    body: (asked) => ({
      input: "x",
      questions: asked.map(({ name, kind, values }, index) => ({
        type: kind === "predicate" ? "yes_no" : kind,
        id: name,
        question: wordsOf(index),
        ...(kind === "choice" && { options: values.map((name) => ({ name })) }),
        ...(kind === "score" && { levels: values }),
      })),
    }),
    read: ({ answers }, asked) =>
      asked.map(({ name, kind, values }) => {
        const { probabilities, choice } = answers[name];
        return {
          shares: kind === "score"
            ? values.map((_, level) => probabilities[level])
            : values.map((one) => probabilities[String(one)]),
          choice,
        };
      }),
  },
  systemone,
  "systemone at decisions": { ...systemone, path: "/oss/v1/decisions" },
};

function sharesOf({ weights }: Asked): number[] {
  const sum = weights.reduce((all, one) => all + one, 0);
  return weights.map((one) => one / sum);
}

const likeliest = (shares: readonly number[]) => shares.indexOf(Math.max(...shares));
const indexIn = (text: unknown) => Number(/#(\d+)#/.exec(JSON.stringify(text))![1]);
const LETTERS = "ABCDEFGHIJ";

/** A server of each kind that finds these probabilities. */
// deno-lint-ignore no-explicit-any -- a request of any shape
const SERVERS: Partial<Record<Setup, (body: any, asked: readonly Asked[]) => Response>> = {
  list: ({ questions }, asked) =>
    Response.json({
      // deno-lint-ignore no-explicit-any -- a request of any shape
      answers: questions.map(({ type, instructions, choices, levels }: any) => {
        const shares = sharesOf(asked[indexIn(instructions)]!);
        if (type === "predicate") return { type, probability: shares[0] };
        const values = choices?.map(({ value }: { value: Value }) => value) ??
          levels.map((_: unknown, at: number) => at);
        const probabilities = values.map((value: Value, at: number) => ({ value, probability: shares[at] })).reverse();
        return { type, probabilities, ...(choices && { choice: values[likeliest(shares)] }) };
      }),
    }),
  "list-by-id": ({ questions }, asked) =>
    Response.json({
      // deno-lint-ignore no-explicit-any -- a request of any shape
      answers: Object.fromEntries(questions.map(({ id, type, question, options, levels }: any) => {
        const shares = sharesOf(asked[indexIn(question)]!);
        const keys: string[] = options?.map(({ name }: { name: string }) => name) ??
          levels?.map((_: unknown, at: number) => at) ?? ["yes", "no"];
        return [id, { type, probabilities: Object.fromEntries(keys.map((key, at) => [key, shares[at]])) }];
      })),
    }),
  systemone: ({ questions }, asked) =>
    Response.json({
      answers: Object.fromEntries(
        // deno-lint-ignore no-explicit-any -- a request of any shape
        Object.entries(questions).map(([key, { type, instructions, criteria }]: any) => {
          const one = asked[indexIn(instructions)]!;
          const shares = sharesOf(one);
          if (type === "noul") return [key, { type, noul: shares[0] }];
          const keys = type === "score" ? criteria.map((_: unknown, at: number) => at) : one.values.map(String);
          // Two values of one text have names of their own.
          const given = type === "score" ? keys : namesAsked(criteria, one.values);
          const probabilities = Object.fromEntries(given.map((name: string, at: number) => [name, shares[at]]));
          return [key, { type, probabilities, ...(type === "choice" && { choice: given[likeliest(shares)] }) }];
        }),
      ),
    }),
  logprobs({ messages }, asked) {
    const one = asked[indexIn(messages)]!;
    const tokens = one.kind === "predicate"
      ? ["Yes", " no"]
      : one.values.map((_, at) => one.kind === "score" ? `${at}` : LETTERS[at]!);
    return chatAnswer(Object.fromEntries(sharesOf(one).map((share, at) => [tokens[at]!, share * 0.75])));
  },
  schema({ messages }, asked) {
    const one = asked[indexIn(messages)]!;
    const at = likeliest(sharesOf(one));
    return chosen(one.kind === "predicate" ? ["yes", "no"][at]! : one.kind === "score" ? `${at}` : LETTERS[at]!);
  },
};

function namesAsked(criteria: JsonObject, values: readonly Value[]): string[] {
  return values.map((value) =>
    typeof value === "string" ? value : [`${value} (boolean)`, `${value}`].find((one) => one in criteria)!
  );
}

for (const [client, { path, booleans, body, read }] of Object.entries(CLIENTS)) {
  law(
    `decisions: a client of ${client} gets every answer in order over every way, with a sum of 1`,
    questions(booleans),
    async (asked) => {
      for (const [setup, answer] of Object.entries(SERVERS)) {
        const upstream = fakeUpstream(({ body }) => answer(JSON.parse(body), asked));
        const app = newApp({ config: configFor(setup as Setup), fetch: upstream.fetch });
        const response = await app.post(path, { model: "judge", ...body(asked) });
        const received = await response.json();
        assertEquals(response.status, 200, JSON.stringify(received));
        for (const [index, { shares, choice }] of read(received, asked).entries()) {
          const one = asked[index]!;
          const expected = sharesOf(one);
          const sum = shares.reduce((all, share) => all + share, 0);
          assertAlmostEquals(sum, 1, 1e-9);
          if (setup === "schema") assertEquals(likeliest(shares), likeliest(expected));
          else for (const [at, share] of shares.entries()) assertAlmostEquals(share, expected[at]!, 1e-9);
          if (one.kind !== "choice") continue;
          const most = Math.max(...expected);
          // Logarithms may change which of two equal ones is first.
          assert(one.values.some((value, at) => value === choice && expected[at]! > most - 1e-9), `${choice}`);
        }
      }
    },
  );
}
