/**
 * `deno task bench:json [<values>]`: what requests of so many JSON values cost before anything is asked of an upstream, in
 * milliseconds of processor time: to be counted, to be parsed, and to be validated and read by their protocol. The defaults of
 * `limits.jsonValues`, `limits.jsonNumbers` and `limits.jsonNames` come from it. Each is the least of ten times.
 */
import process from "node:process";
import { protocols } from "../../plugins/mod.ts";
import { excessOf, JSON_LIMITS } from "../../src/canonical/json_limits.ts";
import { newContext } from "../support/context.ts";
import { parseExactly } from "../../src/canonical/raw_number.ts";
import { toGatewayError } from "../../src/errors.ts";

const VALUES = Number(Deno.args[0] ?? JSON_LIMITS.values) - 100;
const NAMES = Math.min(VALUES / 2, JSON_LIMITS.names - 100);
const NUMBERS = JSON_LIMITS.numbers - 100;
/** More of them are read as doubles. */
const LONG_NUMBERS = 29_000;
const TIMES = 10;

const WIRES = { chat: "messages", messages: "messages", responses: "input" } as const;
type Wire = keyof typeof WIRES;

/** `unit` so often that it makes all the values, of which each has `per`. */
const many = (unit: (at: number) => string, per: number) =>
  Array.from({ length: Math.floor(VALUES / per) }, (_, at) => unit(at)).join(",");
const names = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `"k${from + at}":1`).join(",");
const TURN = '{"role":"user","content":"a"}';

/** What stands in the list of turns, and what beside it. */
const SHAPES: Record<string, { turns?: string; more?: string }> = {
  "short turns": { turns: many(() => TURN, 5) },
  "texts of one turn": { turns: `{"role":"user","content":[${many(() => '{"type":"text","text":"a"}', 5)}]}` },
  "tools": {
    turns: TURN,
    more: `"tools":[${
      many((at) => `{"type":"function","name":"t${at}","function":{"name":"t${at}","parameters":{}}}`, 12)
    }]`,
  },
  "lists in a field that nobody knows": { turns: TURN, more: `"x":[${many(() => "[]", 1)}]` },
  "turns with a thousand fields": { turns: many(() => `{"role":"user","content":"a",${names(0, 1_000)}}`, 1_005) },
  "parts with a thousand fields": {
    turns: `{"role":"user","content":[${many(() => `{"type":"text","text":"a",${names(0, 1_000)}}`, 1_005)}]}`,
  },
  "tools with a thousand fields": {
    turns: TURN,
    more: `"tools":[${many((at) => `{"name":"t${at}",${names(0, 1_000)}}`, 1_003)}]`,
  },
  "as many names as may be": { turns: TURN, more: names(0, NAMES) },
  "numbers": { turns: TURN, more: `"x":[${"1,".repeat(NUMBERS)}1]` },
  "numbers of twenty digits, kept": { turns: TURN, more: `"x":[${"12345678901234567890,".repeat(LONG_NUMBERS)}1]` },
  "numbers of twenty digits, rounded": { turns: TURN, more: `"x":[${"12345678901234567890,".repeat(NUMBERS)}1]` },
  "short turns, with one number of twenty digits": { turns: many(() => TURN, 5), more: '"x":12345678901234567890' },
  "fifteen million numbers": { turns: `${"1,".repeat(15_000_000)}1` },
  "turns that are none: {}": { turns: many(() => "{}", 1) },
  "turns that are none: null": { turns: many(() => "null", 1) },
  "tools that are none: {}": { turns: TURN, more: `"tools":[${many(() => "{}", 1)}]` },
  "pictures that are none": { turns: `{"role":"user","content":[${many(() => '{"type":"input_image"}', 3)}]}` },
};

function cpuMs(run: () => unknown): number {
  const times = Array.from({ length: TIMES }, () => {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1_000;
  });
  return Math.round(Math.min(...times));
}

function read(wire: Wire, body: unknown): string {
  const protocol = protocols.find(({ name }) => name === wire)!;
  const request = { body, headers: new Headers(), params: {}, query: new URLSearchParams() };
  try {
    protocol.parse(request, newContext(wire));
    return "read";
  } catch (thrown) {
    return toGatewayError(thrown).code;
  }
}

say("| request | wire | MB | counted | parsed | validated | all | |\n|---|---|--:|--:|--:|--:|--:|---|");
for (const [shape, { turns = "", more }] of Object.entries(SHAPES)) {
  for (const [wire, field] of Object.entries(WIRES) as [Wire, string][]) {
    const text = `{"model":"m","max_tokens":9,"${field}":[${turns}]${more ? `,${more}` : ""}}`;
    const megabytes = (text.length / 1e6).toFixed(1);
    const counted = cpuMs(() => excessOf(text, JSON_LIMITS));
    const row = [shape, wire, megabytes, counted];
    const excess = excessOf(text, JSON_LIMITS);
    if (excess) {
      say(`| ${[...row, "", "", counted, `more ${excess} than may be`].join(" | ")} |`);
      continue;
    }
    const parsed = cpuMs(() => parseExactly(text));
    const body = parseExactly(text);
    const validated = cpuMs(() => read(wire, body));
    say(`| ${[...row, parsed, validated, counted + parsed + validated, read(wire, body)].join(" | ")} |`);
  }
}

function say(line: string): void {
  // deno-lint-ignore no-console -- the report
  console.log(line);
}
