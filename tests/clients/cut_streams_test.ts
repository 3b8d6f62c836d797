/**
 * Long sessions of each agent while a third of the upstream's streams break off, at random bytes and also before their first
 * event: every text arrives whole, every tool runs once and in order, and the agent notices nothing.
 */
import { assert, assertEquals } from "@std/assert";
import { asList, asObject, asObjects, asText, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { Random } from "../simulation/random.ts";
import type { ConfigInput } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { bodyOf } from "../support/chunks.ts";
import { answerTo, type Body, type Said } from "../support/continuing_engine.ts";
import { withClaudeCode } from "./claude_code.ts";
import { KEYS, liveCatalog, withCodex } from "./codex.ts";
import { CLAUDE_CODE, CODEX, install, type Installed, OPENCODE } from "./install.ts";
import { withOpencode } from "./opencode.ts";
import type { Exchange } from "./recorder.ts";

/** It decides all cuts: `LANEWAY_CUT_SEED=7 deno test …` repeats a run. */
const SEED = Number(Deno.env.get("LANEWAY_CUT_SEED") ?? Math.floor(Math.random() * 1e6));
const MODEL = "scripted";
const TURNS = 20;
/** How many answers break off, and how many of these break off again as they go on: 11 cuts in 32 streams. */
const [CUT_ONCE, CUT_AGAIN] = [8, 3];

/** Whether the model writes a call that is asked for again as it was before, and the settings that the lane then needs. */
const LANES = {
  "and the model repeats itself": {},
  "and the model repeats nothing": { toolCalls: "whole" },
} as const;
type LaneName = keyof typeof LANES;

/** Three servers, because none is asked twice for an answer that broke before its first event. */
const SERVERS = ["one", "two", "three"];

function configOf(lane: LaneName): ConfigInput {
  return {
    upstreams: Object.fromEntries(SERVERS.map((name) => [name, {
      driver: "chat" as const,
      baseUrl: `http://scripted.test/${name}/v1`,
      prefill: "continue-final-message" as const,
    }])),
    retry: { failovers: SERVERS.length - 1 },
    lanes: {
      oss: {
        ...LANES[lane],
        continuation: "any",
        models: {
          [MODEL]: {
            task: "chat",
            targets: SERVERS.map((upstream) => ({ upstream, model: "m" })),
            contextLength: 100_000,
          },
        },
      },
    },
  };
}

interface Outcome {
  texts: string[];
  exchanges: Exchange[];
  /** What the tools wrote, in the order in which they ran. */
  ran: string;
  /** How often answers went on, as the gateway's log says. */
  continued: number;
}

interface Agent {
  installed: Installed;
  /** The calls of a turn: one that leaves a trace, and one that reads in some turns. */
  calls(turn: number): { call: string; input: JsonObject }[];
  ask(program: string, config: ConfigInput, script: (call: number, body: JsonObject) => Response): Promise<Outcome>;
}

const TRACE = "ran.txt";
const trace = (turn: number) => `echo ${turn} >> ${TRACE}`;
const PROMPT = "Do all that there is to do";

const [claudeCode, codex, opencode] = [
  await install(CLAUDE_CODE, "claude"),
  await install(CODEX, "codex"),
  await install(OPENCODE, "opencode"),
];

const AGENTS: Record<string, Agent> = {
  "Claude Code": {
    installed: claudeCode,
    calls: (turn) => [
      { call: "Bash", input: { command: trace(turn), description: "Leaves a “trace”" } },
      ...readEveryThird(turn, { call: "Read", input: { file_path: TRACE } }),
    ],
    async ask(program, config, script) {
      let outcome: Outcome | undefined;
      await withClaudeCode(program, config, async ({ app, home, run }) => {
        const tools = ["--tools", "Bash,Read", "--allowedTools", "Bash,Read"];
        const output = ["--output-format", "stream-json", "--verbose"];
        const { code, lines, result, exchanges, text } = await run([PROMPT, "--model", MODEL, ...tools, ...output]);
        assertEquals([code, result.is_error, result.result], [0, false, textOf(TURNS)], text);
        const blocks = lines.filter(({ type }) => type === "assistant").flatMap(({ message }) =>
          asObjects(asObject(message).content)
        );
        const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => asText(text));
        outcome = { texts, exchanges, ran: await Deno.readTextFile(`${home}/project/${TRACE}`), continued: sumOf(app) };
      }, script);
      return outcome!;
    },
  },
  "Codex": {
    installed: codex,
    calls: (turn) => [
      { call: "exec_command", input: { cmd: trace(turn) } },
      ...readEveryThird(turn, { call: "exec_command", input: { cmd: "echo “nothing”" } }),
    ],
    async ask(program, config, script) {
      let outcome: Outcome | undefined;
      const gateway = { config: { ...config, keys: KEYS }, script };
      await withCodex(program, gateway, async ({ app, project, baseUrl, exec }) => {
        const { code, lines, exchanges, text } = await exec(["--model", MODEL, ...liveCatalog(baseUrl), PROMPT]);
        assertEquals(code, 0, text);
        assertEquals(lines.filter(({ type }) => type === "error" || type === "turn.failed"), []);
        const texts = lines.filter(({ type }) => type === "item.completed").map(({ item }) => asObject(item))
          .filter(({ type }) => type === "agent_message").map(({ text }) => asText(text));
        outcome = { texts, exchanges, ran: await Deno.readTextFile(`${project}/${TRACE}`), continued: sumOf(app) };
      });
      return outcome!;
    },
  },
  "opencode": {
    installed: opencode,
    calls: (turn) => [
      { call: "bash", input: { command: trace(turn), description: "Leaves a “trace”" } },
      ...readEveryThird(turn, { call: "read", input: { filePath: TRACE } }),
    ],
    async ask(program, config, script) {
      let outcome: Outcome | undefined;
      await withOpencode(program, "@ai-sdk/openai-compatible", config, script, async ({ app, project, run }) => {
        const { code, lines, exchanges, text } = await run(["--model", `gw/${MODEL}`, PROMPT]);
        assertEquals(code, 0, text);
        assertEquals(lines.filter(({ type }) => type === "error"), []);
        const texts = lines.filter(({ type }) => type === "text").map(({ part }) => asText(asObject(part).text));
        outcome = { texts, exchanges, ran: await Deno.readTextFile(`${project}/${TRACE}`), continued: sumOf(app) };
      });
      return outcome!;
    },
  },
};

function readEveryThird<T>(turn: number, call: T): T[] {
  return turn % 3 === 0 ? [call] : [];
}

function sumOf({ logs }: { logs: readonly { continued?: number }[] }): number {
  return logs.reduce((sum, { continued = 0 }) => sum + continued, 0);
}

for (const [agent, { installed, calls, ask }] of Object.entries(AGENTS)) {
  for (const lane of Object.keys(LANES) as LaneName[]) {
    const name = `${agent}: ${TURNS} turns with tools while a third of the streams break off, ${lane} (seed ${SEED})`;
    if ("reason" in installed) {
      Deno.test({ name: `${name} (skipped: ${installed.reason})`, ignore: true, fn() {} });
      continue;
    }
    Deno.test(name, async () => {
      const upstream = new CuttingUpstream(calls, lane, new Random(SEED, agent, lane));
      const { texts, exchanges, ran, continued } = await ask(installed.program, configOf(lane), upstream.answer);
      const turns = Array.from({ length: TURNS }, (_, turn) => turn);
      assertEquals(texts, [...turns, TURNS].map(textOf));
      assertEquals(ran, turns.map((turn) => `${turn}\n`).join(""));
      assertHistory(upstream.sent.at(-1)!, turns.map(calls));
      const asked = exchanges.filter(({ body }) => hasTools(body));
      assertEquals(asked.length, TURNS + 1, "the agent asked nothing twice");
      for (const { status, answer } of asked) {
        assertEquals(status, 200);
        assertNoError(await answer);
      }
      assertEquals([upstream.sent.length, upstream.cuts], [TURNS + 1 + upstream.cuts, CUT_ONCE + CUT_AGAIN]);
      assert(continued > 0, "no stream broke after its first event");
      // deno-lint-ignore no-console -- says how much was tested
      console.info(
        `${upstream.cuts} of ${upstream.sent.length} streams were cut, ${upstream.unbegun} before their first event; ` +
          `${continued} went on (LANEWAY_CUT_SEED=${SEED})`,
      );
    });
  }
}

/** A model whose turn follows from how far the conversation is. Some of its streams end before they are complete. */
class CuttingUpstream {
  /** The requests of the session, without those for a title. */
  readonly sent: JsonObject[] = [];
  cuts = 0;
  /** How many of the cuts left nothing of the answer. */
  unbegun = 0;
  readonly #calls: Agent["calls"];
  readonly #lane: LaneName;
  readonly #random: Random;
  /** How often each turn's answer is still to break off. */
  readonly #left = new Map<number, number>();

  constructor(calls: Agent["calls"], lane: LaneName, random: Random) {
    this.#calls = calls;
    this.#lane = lane;
    this.#random = random;
    const cut = random.some(Array.from({ length: TURNS + 1 }, (_, turn) => turn), CUT_ONCE);
    const again = random.some(cut, CUT_AGAIN);
    for (const turn of cut) this.#left.set(turn, again.includes(turn) ? 2 : 1);
  }

  readonly answer = (_: number, body: JsonObject): Response => {
    if (!hasTools(body)) return body.stream === true ? answerStream([word("A title"), ENDING]) : answerWhole("A title");
    const leg = this.sent.push(body);
    const turn = turnsIn(body).length;
    const frames = this.#frames(body, turn, leg);
    const left = this.#left.get(turn) ?? 0;
    if (left === 0) return this.#stream(frames.join(""));
    this.#left.set(turn, left - 1);
    return this.#cut(frames);
  };

  /** The answer, or the rest of it. No two streams give their calls the same ids. */
  #frames(body: JsonObject, turn: number, leg: number): string[] {
    const repeats = this.#lane === "and the model repeats itself";
    const says: Said[] = [
      ...(turn % 3 === 1 ? [{ reasoning: `Turn ${turn}:\n “so far”, so good 🧠` }] : []),
      { text: textOf(turn) },
      ...(turn < TURNS ? this.#calls(turn) : []).map(({ call, input }) => ({
        call,
        input: JSON.stringify(input, null, repeats ? 0 : leg % 9),
      })),
    ];
    const engine = { says, pieces: [1, 5, 3, 7], wire: "chat", prefill: "continue-final-message" } as const;
    const { frames } = answerTo(body as unknown as Body, engine, { after: Infinity, how: "closed" });
    return frames.map((frame) => frame.replaceAll(/"id":"call_/g, `"id":"call_${leg}_`));
  }

  /**
   * Breaks off at a random byte before the answer is complete, one time in four before its first event. A thought that the
   * client sees is not cut: such an answer ends in the error.
   */
  #cut(frames: readonly string[]): Response {
    const thoughts = frames.findLastIndex((frame) => frame.includes('"reasoning_content"')) + 1;
    const end = frames.findIndex((frame) => frame.includes('"finish_reason"'));
    const isEarly = end === 0 || this.#random.chance(0.25);
    // An event whose line is complete counts even without the blank line after it.
    const at = isEarly
      ? this.#random.int(0, sizeOf(frames[0]!) - 3)
      : this.#random.int(sizeOf(frames.slice(0, thoughts + 1).join("")), sizeOf(frames.slice(0, end).join("")));
    this.cuts++;
    if (isEarly) this.unbegun++;
    return this.#stream(frames.join(""), at);
  }

  /** The bytes in pieces of random sizes, up to `end`; then the stream just ends, or the connection is reset. */
  #stream(text: string, end?: number): Response {
    const bytes = new TextEncoder().encode(text).slice(0, end);
    const failure = end !== undefined && this.#random.chance(0.5) ? new TypeError("connection reset") : undefined;
    const pieces = piecesOf(bytes, this.#random);
    return new Response(bodyOf(pieces, failure), { headers: { "content-type": "text/event-stream" } });
  }
}

function* piecesOf(bytes: Uint8Array<ArrayBuffer>, random: Random): Generator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < bytes.length;) {
    const size = random.int(1, 200);
    yield bytes.subarray(start, start + size);
    start += size;
  }
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Text in which a break may fall into a word, a character or a block of code. */
function textOf(turn: number): string {
  const start = `Step ${turn} of ${TURNS}: “grüße”, 世界 🌍 e\u0301.`;
  return `${start}\n\n\`\`\`ts\nconst a = { "b": [${turn}, '\\n'] };\n\`\`\`\n\n  Then on, and on.`;
}

/** The conversation as the upstream gets it: each turn's text and calls, and one result for each call. */
function assertHistory(body: JsonObject, turns: readonly ReturnType<Agent["calls"]>[]): void {
  const called = turnsIn(body).slice(0, turns.length);
  assertEquals(called.map(({ content }) => contentOf(content)), turns.map((_, turn) => textOf(turn)));
  const calls = called.map(({ tool_calls }) => asObjects(tool_calls));
  assertEquals(
    calls.map((list) => list.map(({ function: one }) => [asObject(one).name, inputOf(asObject(one))])),
    turns.map((list) => list.map(({ call, input }) => [call, input])),
  );
  const results = asObjects(body.messages).filter(({ role }) => role === "tool").map((one) => one.tool_call_id);
  assertEquals(results, calls.flat().map(({ id }) => id));
}

function inputOf(called: JsonObject): JsonObject {
  return JSON.parse(asText(called.arguments));
}

function contentOf(content: unknown): string {
  return typeof content === "string" ? content : asObjects(content).map(({ text }) => asText(text)).join("");
}

/** The turns of the assistant that called tools. */
function turnsIn({ messages }: JsonObject): JsonObject[] {
  return asObjects(messages).filter(({ role, tool_calls }) => role === "assistant" && asList(tool_calls).length > 0);
}

function hasTools({ tools }: JsonObject): boolean {
  return asList(tools).length > 0;
}

/** No event of the stream tells of a failure, on any of the wires. */
function assertNoError(answer: string): void {
  const events = answer.split("\n").filter((line) => line.startsWith("data: {"))
    .map((line): JsonObject => JSON.parse(line.slice("data: ".length)));
  assert(events.length > 0);
  for (const { type, error } of events) {
    assert(type !== "error" && type !== "response.failed" && !isJsonObject(error), answer);
  }
}
