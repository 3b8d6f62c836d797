/** Servers that make decisions, of every kind, and clients of every shape. All agree on three questions. */
import type { JsonObject } from "../../src/canonical/json.ts";
import { CONFIG, type ConfigInput } from "./app.ts";
import type { Asked } from "./fake_upstream.ts";

type Upstreams = NonNullable<ConfigInput["upstreams"]>;
export type Setup = NonNullable<Upstreams[string]["decisions"]>;

/** One model at an upstream of this kind. */
export function configFor(decisions: Setup | undefined, more: object = {}): ConfigInput {
  const fake = { ...CONFIG.upstreams.fake, decisions, ...more } as Upstreams[string];
  return {
    upstreams: { fake },
    lanes: { oss: { models: { judge: { task: "chat", targets: [{ upstream: "fake", model: "org/judge" }] } } } },
  };
}

/** The probabilities of all answers: of yes and no, of two languages, and of three levels. */
export const SHARES: Record<"spam" | "lang" | "anger", number[]> = {
  spam: [0.75, 0.25],
  lang: [0.125, 0.875],
  anger: [0.5, 0.25, 0.25],
};

export const USAGE = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };

const key = (names: readonly string[], shares: readonly number[]) =>
  Object.fromEntries(names.map((name, at) => [name, shares[at]!]));

/** The answer of a chat model to one request: each token with its probability. */
export function chatAnswer(tokens: Record<string, number>): Response {
  const top = Object.entries(tokens).map(([token, share]) => ({ token, logprob: Math.log(share), bytes: null }))
    .sort((one, other) => other.logprob - one.logprob);
  const [first] = top;
  const message = { role: "assistant", content: first?.token ?? "" };
  const content = [{ ...first, top_logprobs: top }];
  return Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "org/judge",
    choices: [{ index: 0, message, finish_reason: "length", logprobs: { content } }],
    usage: USAGE,
  });
}

/** An answer of a chat model in words, or by a call. */
export function chosen(label: string, isTool = false): Response {
  const input = JSON.stringify({ answer: label });
  const call = { id: "call_1", type: "function", function: { name: "answer", arguments: input } };
  const message = isTool
    ? { role: "assistant", content: null, tool_calls: [call] }
    : { role: "assistant", content: input };
  const choice = { index: 0, message, finish_reason: isTool ? "tool_calls" : "stop" };
  return Response.json({ id: "chatcmpl-1", object: "chat.completion", created: 1, choices: [choice], usage: USAGE });
}

/** Which of the three questions a request to a chat model asks. */
export function askedIn(body: string): keyof typeof SHARES {
  return body.includes("furious") ? "anger" : body.includes("German") ? "lang" : "spam";
}

/** Tokens for the labels of each question, some of them twice, and a tenth of all for words that are none. */
const TOKENS: Record<keyof typeof SHARES, Record<string, number>> = {
  spam: { yes: 0.5, " Yes": 0.175, no: 0.225, Well: 0.1 },
  lang: { A: 0.1125, B: 0.7, "▁B": 0.0875, a: 0.1 },
  anger: { "0": 0.45, "1": 0.225, "2": 0.225, "3": 0.1 },
};

/** The answers of each kind of server. */
export const SERVERS: Record<Exclude<Setup, "off">, (asked: Pick<Asked, "body">) => Response> = {
  list: () =>
    Response.json({
      model: "org/judge",
      answers: [
        { type: "predicate", name: "spam", probability: 0.75 },
        {
          type: "choice",
          name: "lang",
          choice: "German",
          confidence: 0.875,
          probabilities: [{ value: "German", probability: 0.875 }, { value: "French", probability: 0.125 }],
        },
        {
          type: "score",
          name: "anger",
          score: 0.75,
          confidence: 0.5,
          probabilities: [0.5, 0.25, 0.25].map((probability, value) => ({ value, label: "x", probability })),
        },
      ],
      usage: { input_tokens: 27, output_tokens: 3, total_tokens: 30 },
    }),
  "plain-list": (asked) => SERVERS.list(asked),
  "list-by-id": () =>
    Response.json({
      object: "decisions",
      model: "org/judge",
      prompt_format_version: 1,
      answers: {
        anger: { type: "score", score: 0.75, probabilities: key(["0", "1", "2"], SHARES.anger), label_mass: 0.9 },
        spam: { type: "yes_no", probabilities: key(["yes", "no"], SHARES.spam), label_mass: 0.9 },
        lang: { type: "choice", probabilities: key(["French", "German"], SHARES.lang), label_mass: 0.9 },
      },
      usage: { prompt_tokens: 27, total_tokens: 30 },
    }),
  systemone: () =>
    Response.json({
      model: "org/judge",
      answers: {
        spam: { type: "noul", noul: 0.75 },
        lang: {
          type: "choice",
          choice: "German",
          confidence: 0.75,
          probabilities: key(["French", "German"], SHARES.lang),
        },
        anger: {
          type: "score",
          score: 0.75,
          confidence: 0.25,
          legend: { "0": "calm", "1": "cross", "2": "furious" },
          probabilities: key(["0", "1", "2"], SHARES.anger),
        },
      },
      usage: { input_tokens: 27, output_tokens: 3 },
    }),
  "systemone-at-decisions": (asked) => SERVERS.systemone(asked),
  logprobs: ({ body }) => chatAnswer(TOKENS[askedIn(body)]),
  schema: ({ body }) => chosen({ spam: "yes", lang: "B", anger: "0" }[askedIn(body)]),
  tool: ({ body }) => chosen({ spam: "yes", lang: "B", anger: "0" }[askedIn(body)], true),
};

/** Where each kind of server is asked. */
export const PATHS: Record<Exclude<Setup, "off">, string> = {
  list: "/v1/decisions",
  "plain-list": "/v1/decisions",
  "list-by-id": "/v1/decisions",
  systemone: "/v1/systemone",
  "systemone-at-decisions": "/v1/decisions",
  logprobs: "/v1/chat/completions",
  schema: "/v1/chat/completions",
  tool: "/v1/chat/completions",
};

/** The three questions, as each client asks them, and the probabilities in its answer. */
export interface DecisionClient {
  path: string;
  body: JsonObject;
  // deno-lint-ignore no-explicit-any -- an answer of any shape
  read(answer: any): { shares: number[][]; choice: unknown; score: unknown };
}

// deno-lint-ignore no-explicit-any -- an answer of any shape
function readNamed(answers: any, yes: string) {
  const { spam, lang, anger } = answers;
  const shares = yes === "noul" ? [spam.noul, 1 - spam.noul] : [spam.probabilities.yes, spam.probabilities.no];
  const { French, German } = lang.probabilities;
  const levels = ["0", "1", "2"].map((level) => anger.probabilities[level]);
  return { shares: [shares, [French, German], levels], choice: lang.choice, score: anger.score };
}

const QUESTIONS = {
  spam: { type: "noul", instructions: "Is it spam?" },
  lang: { type: "choice", instructions: "Which language?", criteria: { French: null, German: "as in Bonn" } },
  anger: { type: "score", instructions: "How angry?", criteria: ["calm", "cross", "furious"] },
};

export const CLIENTS: Record<string, DecisionClient> = {
  list: {
    path: "/oss/v1/decisions",
    body: {
      model: "judge",
      input: "Buy now!",
      questions: [
        { type: "predicate", name: "spam", instructions: "Is it spam?" },
        {
          type: "choice",
          name: "lang",
          instructions: "Which language?",
          choices: [{ value: "French" }, { value: "German", description: "as in Bonn" }],
        },
        {
          type: "score",
          name: "anger",
          instructions: "How angry?",
          levels: [{ label: "calm" }, { label: "cross" }, { label: "furious" }],
        },
      ],
    },
    read({ answers: [spam, lang, anger] }) {
      const of = (one: { probabilities: { probability: number }[] }) => one.probabilities.map((two) => two.probability);
      return {
        shares: [[spam.probability, 1 - spam.probability], of(lang), of(anger)],
        choice: lang.choice,
        score: anger.score,
      };
    },
  },
  "list by id": {
    path: "/oss/v1/decisions",
    body: {
      model: "judge",
      input: "Buy now!",
      questions: [
        { id: "spam", type: "yes_no", question: "Is it spam?" },
        {
          id: "lang",
          type: "choice",
          question: "Which language?",
          options: [{ name: "French" }, { name: "German", description: "as in Bonn" }],
        },
        { id: "anger", type: "score", question: "How angry?", levels: ["calm", "cross", "furious"] },
      ],
    },
    read: ({ answers }) => readNamed(answers, "yes_no"),
  },
  systemone: {
    path: "/oss/v1/systemone",
    body: { model: "judge", state: "Buy now!", questions: QUESTIONS },
    read: ({ answers }) => readNamed(answers, "noul"),
  },
  "systemone at decisions": {
    path: "/oss/v1/decisions",
    body: { model: "judge", state: "Buy now!", questions: QUESTIONS },
    read: ({ answers }) => readNamed(answers, "noul"),
  },
};
