/**
 * The loop that agents live in, with each of them: the model thinks and calls two tools at once, reads what they gave, thinks
 * again and calls one more, and answers. All that it thought, it reads again as it was.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { answerStream, ENDING, frame, word } from "../support/chat.ts";
import { withClaudeCode } from "./claude_code.ts";
import { KEYS, liveCatalog, withCodex } from "./codex.ts";
import { CLAUDE_CODE, CODEX, install, type Installed, OPENCODE } from "./install.ts";
import { type Package, PACKAGES, withOpencode } from "./opencode.ts";

/** Hosts of this family answer 400 where what was thought before a call does not come back. */
const MODEL = "deepseek-v4";
const CONFIG: ConfigInput = {
  upstreams: { scripted: { driver: "chat", baseUrl: "http://scripted.test/v1" } },
  lanes: {
    oss: {
      models: {
        [MODEL]: {
          task: "chat",
          targets: [{ upstream: "scripted", model: "deepseek-ai/DeepSeek-V4" }],
          contextLength: 100_000,
        },
      },
    },
  },
};

/** What no step on the way may trim, normalise, escape or read as markup. */
const FIRST_THOUGHT = [
  "  First I look: “quotes”, \"double\", 'single', `ticks` & \\backslash\\n.",
  "",
  "\tA tab, trailing blanks   ",
  'e\u0301 is not \u00e9; 思考中… 🧠👩‍💻 \u200b zero width; <think>not markup</think> {"a": [1,',
  "data: [DONE]",
  "",
  " ",
].join("\n");
const SECOND_THOUGHT = "\nNow the rest –\r\nsignature: none; ```\n</tool_call>\n";
const TITLE = "Two tools";

interface Called {
  name: string;
  input: JsonObject;
  /** A part of what the tool gives. */
  gives: string;
}

/** What the two turns with calls call: two different tools at once, then one. */
type Loop = readonly [first: readonly Called[], second: readonly Called[]];

/** One agent: which tools it has, and how it is asked twice in one session; what its upstream was sent comes out. */
interface Agent {
  installed: Installed;
  loop: Loop;
  ask(program: string, script: Script, prompts: readonly [string, string]): Promise<JsonObject[]>;
}
type Script = (call: number, body: JsonObject) => Response;

const NOTES = "Remember: ünïcode\n";

const [claudeCode, codex, opencode] = [
  await install(CLAUDE_CODE, "claude"),
  await install(CODEX, "codex"),
  await install(OPENCODE, "opencode"),
];

const CLAUDE_CODE_TOOLS = ["--tools", "Bash,Read", "--allowedTools", "Bash,Read"];

const AGENTS: Record<string, Agent> = {
  "Claude Code": {
    installed: claudeCode,
    loop: [
      [
        { name: "Bash", input: { command: "printf one", description: "Says one" }, gives: "one" },
        { name: "Read", input: { file_path: "notes.txt" }, gives: "ünïcode" },
      ],
      [{ name: "Bash", input: { command: "printf two", description: "Says two" }, gives: "two" }],
    ],
    async ask(program, script, prompts) {
      const all: JsonObject[] = [];
      await withClaudeCode(program, CONFIG, async ({ home, run, sent }) => {
        await Deno.writeTextFile(`${home}/project/notes.txt`, NOTES);
        const options = ["--model", MODEL, ...CLAUDE_CODE_TOOLS, "--output-format", "stream-json", "--verbose"];
        for (const [turn, prompt] of prompts.entries()) {
          const { code, result } = await run([prompt, ...(turn === 0 ? [] : ["--continue"]), ...options]);
          assertEquals([code, result.is_error, result.result], [0, false, `Answer ${turn + 1}.`]);
        }
        all.push(...sent);
      }, script);
      return all;
    },
  },
  "Codex": {
    installed: codex,
    loop: [
      [
        { name: "exec_command", input: { cmd: "printf one" }, gives: "one" },
        {
          name: "apply_patch",
          input: { input: "*** Begin Patch\n*** Add File: new.txt\n+tw\\o “2”\n*** End Patch\n" },
          gives: "Success. Updated the following files:",
        },
      ],
      [{ name: "exec_command", input: { cmd: "cat new.txt" }, gives: "tw\\o “2”" }],
    ],
    async ask(program, script, prompts) {
      const all: JsonObject[] = [];
      await withCodex(program, { config: { ...CONFIG, keys: KEYS }, script }, async ({ baseUrl, exec, sent }) => {
        const options = ["--model", MODEL, ...liveCatalog(baseUrl)];
        for (const [turn, prompt] of prompts.entries()) {
          const { code, lines } = await exec([...options, ...(turn === 0 ? [] : ["resume", "--last"]), prompt]);
          assertEquals(code, 0);
          const texts = lines.map(({ item }) => item).filter(isJsonObject)
            .filter(({ type }) => type === "agent_message").map(({ text }) => text);
          assertEquals(texts, [`Answer ${turn + 1}.`]);
        }
        all.push(...sent);
      });
      return all;
    },
  },
  ...Object.fromEntries(
    (Object.keys(PACKAGES) as Package[]).map((npm): [string, Agent] => [`opencode by ${npm}`, {
      installed: opencode,
      loop: [
        [
          { name: "bash", input: { command: "printf one", description: "Says one" }, gives: "one" },
          { name: "read", input: { filePath: "notes.txt" }, gives: "ünïcode" },
        ],
        [{ name: "bash", input: { command: "printf two", description: "Says two" }, gives: "two" }],
      ],
      async ask(program, script, prompts) {
        const all: JsonObject[] = [];
        await withOpencode(program, npm, CONFIG, script, async ({ project, run, sent }) => {
          await Deno.writeTextFile(`${project}/notes.txt`, NOTES);
          for (const [turn, prompt] of prompts.entries()) {
            const options = ["--model", `gw/${MODEL}`, ...(turn === 0 ? [] : ["--continue"])];
            const { code, lines, exchanges } = await run([...options, prompt]);
            assertEquals(code, 0);
            const texts = lines.filter(({ type }) => type === "text").map(({ part }) =>
              isJsonObject(part) && part.text
            );
            assertEquals(texts, [`Answer ${turn + 1}.`]);
            assert(exchanges.every(({ path, status }) => path === PACKAGES[npm] && status === 200));
          }
          all.push(...sent);
        });
        return all;
      },
    }]),
  ),
};

for (const [agent, { installed, loop, ask }] of Object.entries(AGENTS)) {
  const name = `${agent}: what the model thought and what its tools gave come back as they were`;
  if ("reason" in installed) {
    Deno.test({ name: `${name} (skipped: ${installed.reason})`, ignore: true, fn() {} });
    continue;
  }
  Deno.test(name, async () => {
    const sent = await ask(installed.program, scriptOf(loop), ["Look at both", "And now?"]);
    const [first, second, third, fourth, ...more] = sent.filter(hasTools);
    assertEquals(more, []);
    if (!first || !second || !third || !fourth) throw new Error(`The model was asked ${sent.length} times`);
    assertEquals(turnsOf(first).filter(({ role }) => role === "assistant" || role === "tool"), []);
    assertEquals(loopIn(second), [...turnsWith(loop[0], FIRST_THOUGHT, 0)]);
    const both = [...turnsWith(loop[0], FIRST_THOUGHT, 0), ...turnsWith(loop[1], SECOND_THOUGHT, loop[0].length)];
    assertEquals(loopIn(third), both);
    // The next prompt, in the same session.
    assertEquals(loopIn(fourth), [...both, { role: "assistant", content: "Answer 1." }]);
    const results = turnsOf(fourth).filter(({ role }) => role === "tool");
    for (const [index, { gives }] of loop.flat().entries()) assertStringIncludes(textOf(results[index]!), gives);
  });
}

/** The model: what it says follows from how far the conversation is. Titles are asked for without tools. */
function scriptOf(loop: Loop): Script {
  return (_, body) => {
    if (!hasTools(body)) return answerStream([word(TITLE), ENDING]);
    const turns = turnsOf(body).filter(({ role }) => role === "assistant");
    switch (turns.length) {
      case 0:
        return calling(FIRST_THOUGHT, loop[0], 0);
      case 1:
        return calling(SECOND_THOUGHT, loop[1], loop[0].length);
      default:
        return answerStream([word(`Answer ${turns.length - 1}.`), ENDING]);
    }
  };
}

/** A thought in pieces, then calls whose arguments come in turns. */
function calling(thought: string, called: readonly Called[], before: number): Response {
  const thoughts = piecesOf(thought).map((piece) => frame({ delta: { reasoning_content: piece } }));
  const heads = called.map(({ name }, index) => ({
    index,
    id: idOf(before + index),
    type: "function",
    function: { name, arguments: "" },
  }));
  const rests = called.map(({ input }, index) =>
    piecesOf(JSON.stringify(input)).map((piece) => ({ index, function: { arguments: piece } }))
  );
  const longest = Math.max(...rests.map(({ length }) => length));
  const inTurns = Array.from({ length: longest }, (_, at) => rests.flatMap((rest) => rest[at] ?? [])).flat();
  const calls = [...heads, ...inTurns].map((call) => frame({ delta: { tool_calls: [call] } }));
  return answerStream([...thoughts, ...calls, frame({ delta: {}, finish_reason: "tool_calls" }), "data: [DONE]\n\n"]);
}

function piecesOf(text: string): string[] {
  return text.match(/[^]{1,7}/gu) ?? [];
}

function idOf(index: number): string {
  return `call_${index + 1}`;
}

/** How an upstream is told of a turn that thought and called, and of what came of it. */
function turnsWith(called: readonly Called[], thought: string, before: number): JsonObject[] {
  return [
    {
      role: "assistant",
      content: "",
      reasoning_content: thought,
      calls: called.map(({ name, input }, index) => [idOf(before + index), name, input]),
    },
    ...called.map((_, index) => ({ role: "tool", tool_call_id: idOf(before + index) })),
  ];
}

/** What a request tells of the loop, without what the tools gave. A turn without text, or thought, may say so as it likes. */
function loopIn(body: JsonObject): JsonObject[] {
  return turnsOf(body).filter(({ role }) => role === "assistant" || role === "tool").map((turn): JsonObject => {
    const { role, tool_call_id, reasoning_content, tool_calls } = turn;
    if (role === "tool") return { role, tool_call_id };
    const calls = (Array.isArray(tool_calls) ? tool_calls : []).filter(isJsonObject).map((call) => {
      const called = isJsonObject(call.function) ? call.function : {};
      return [call.id, called.name, JSON.parse(String(called.arguments))];
    });
    return {
      role,
      content: textOf(turn),
      ...(reasoning_content && { reasoning_content }),
      ...(calls.length > 0 && { calls }),
    };
  });
}

function textOf({ content }: JsonObject): string {
  if (!Array.isArray(content)) return String(content ?? "");
  return content.filter(isJsonObject).map(({ text }) => text).join("");
}

function turnsOf({ messages }: JsonObject): JsonObject[] {
  return Array.isArray(messages) ? messages.filter(isJsonObject) : [];
}

function hasTools({ tools }: JsonObject): boolean {
  return Array.isArray(tools) && tools.length > 0;
}
