import { assertEquals, assertNotEquals } from "@std/assert";
import type { HostedTool, Tool } from "../../../src/canonical/generate.ts";
import {
  argumentsOf,
  ask,
  assistant,
  calledBy,
  callsOf,
  customTool,
  result,
  system,
  textOf,
  tool,
  user,
} from "./support.ts";

// What three coding agents offer, as far as it matters here.
const claudeCode: Tool[] = [
  tool("Agent", ["description", "prompt", "subagent_type"]),
  tool("Bash", ["command"]),
  tool("Edit", ["file_path", "old_string", "new_string"]),
  tool("Glob", ["pattern"]),
  tool("Read", ["file_path"]),
  tool("Skill", ["skill"]),
  tool("Write", ["file_path", "content"]),
];
const codex: Tool[] = [
  tool("exec_command", ["cmd"]),
  tool("write_stdin", { session_id: { type: "number" } }),
  tool("request_user_input", ["question"]),
  tool("view_image", ["path"]),
  tool("get_goal"),
  tool("create_goal", ["objective"]),
  customTool("apply_patch", 'start: "*** Begin Patch"'),
];
const opencode: Tool[] = [
  tool("bash", ["command", "description"]),
  tool("edit", ["filePath", "oldString", "newString"]),
  tool("task", ["description", "prompt"]),
  tool("todowrite", { todos: { type: "array", items: { type: "object" } } }),
  tool("read", ["filePath"]),
  tool("write", ["filePath", "content"]),
];
const search: HostedTool = { type: "hosted", name: "web_search", extra: { wire: "responses", fields: {} } };

// Whether and which

Deno.test("a tool that is offered alone is called", () => {
  const response = ask({ tools: [tool("roll_dice", { sides: { type: "integer" } })] });
  assertEquals(response.content, [
    { type: "tool-call", kind: "function", id: "call_sandbox_1", name: "roll_dice", input: '{"sides":1}' },
  ]);
  assertEquals(response.finish, { reason: "tool-calls" });
});

Deno.test("of several harmless functions the first is called, unless the text names another", () => {
  const tools = [tool("translate", ["text"]), tool("roll_dice"), tool("get")];
  assertEquals(calledBy({ tools: tools.slice(0, 2) }), ["translate"]);
  assertEquals(calledBy({ tools, messages: [user("Please call Roll_Dice.")] }), ["roll_dice"]);
  assertEquals(calledBy({ tools, messages: [user("a roll_dice_twice and pre-roll_dice are other words")] }), ["get"]);
  assertEquals(calledBy({ tools: [tool(""), tool("roll_dice")], messages: [user("roll_dice")] }), ["roll_dice"]);
});

Deno.test("every tool that the text names is called, in the text's order and up to four", () => {
  const tools = ["get_a", "get_b", "get_c", "get_d", "get_e"].map((name) => tool(name));
  const messages = [user("get_c, then get_a")];
  assertEquals(calledBy({ tools, messages }), ["get_c", "get_a"]);
  assertEquals(calledBy({ tools, messages, parallelToolCalls: false }), ["get_c"]);
  assertEquals(calledBy({ tools, messages: [user("get_a get_b get_c get_d get_e")] }).length, 4);
});

Deno.test("a coding agent is given nothing that could change anything, however its user greets it", () => {
  for (const text of ["hi", "Write a poem", "edit my resume", "your task is to run the tests", "write, please"]) {
    assertEquals(calledBy({ tools: claudeCode, messages: [user(text)] }), ["Glob"], text);
    assertEquals(calledBy({ tools: codex, messages: [user(text)] }), ["get_goal"], text);
    assertEquals(calledBy({ tools: opencode, messages: [user(text)] }), ["read"], text);
  }
});

Deno.test("a tool that changes things is called when the user means it", () => {
  for (const text of ["Use Write", "the write tool", "call `Write` now", 'and "Write" it']) {
    assertEquals(calledBy({ tools: claudeCode, messages: [user(text)] }), ["Write"], text);
  }
  assertEquals(calledBy({ tools: codex, messages: [user("apply_patch please")] }), ["apply_patch"]);
});

Deno.test("of an agent's tools that tell nothing of themselves none is called; a command is echo", () => {
  assertEquals(calledBy({ tools: [tool("Frobnicate"), tool("Bash", ["command"]), tool("Write")] }), ["Bash"]);
  const response = ask({ tools: [tool("frobnicate"), tool("delete_user", ["id"])] });
  assertEquals(callsOf(response), []);
  assertEquals(textOf(response).includes("Name one of the tools in your message"), true);
  assertEquals(calledBy({ tools: [tool("mcp__search__purge_all"), tool("mcp__x__delete")] }), []);
  assertEquals(calledBy({ tools: [tool("Bash", ["command"]), tool("mcp__post__read_file")] }), [
    "mcp__post__read_file",
  ]);
});

Deno.test("a choice in the request is kept to", () => {
  const tools = [tool("get_a"), tool("get_b"), tool("delete_it"), customTool("notes")];
  assertEquals(calledBy({ tools, toolChoice: { type: "none" } }), []);
  assertEquals(calledBy({ tools, toolChoice: { type: "tool", kind: "function", name: "delete_it" } }), ["delete_it"]);
  assertEquals(calledBy({ tools, toolChoice: { type: "tool", kind: "custom", name: "notes" } }), ["notes"]);
  assertEquals(calledBy({ tools, toolChoice: { type: "tool", kind: "function", name: "notes" } }), []);
  assertEquals(calledBy({ tools, toolChoice: { type: "tool", kind: "function", name: "absent" } }), []);
  assertEquals(calledBy({ tools, toolChoice: { type: "allowed", mode: "auto", names: ["get_b"] } }), ["get_b"]);
  assertEquals(calledBy({ tools, toolChoice: { type: "allowed", mode: "auto", names: ["delete_it"] } }), []);
  assertEquals(calledBy({ tools, toolChoice: { type: "allowed", mode: "required", names: ["delete_it"] } }), [
    "delete_it",
  ]);
  const messages = [user("get_a")];
  assertEquals(calledBy({ tools, messages, toolChoice: { type: "allowed", mode: "auto", names: ["get_b"] } }), [
    "get_b",
  ]);
});

Deno.test("a required call takes the least harmful tool, and text where there is none", () => {
  const required = { toolChoice: { type: "required" } } as const;
  assertEquals(calledBy({ ...required, tools: [tool("delete_it"), customTool("notes")] }), ["notes"]);
  assertEquals(calledBy({ ...required, tools: [tool("delete_it")] }), ["delete_it"]);
  assertEquals(ask({ ...required, tools: [search] }).finish, { reason: "stop" });
  assertEquals(ask({ ...required, tools: [] }).finish, { reason: "stop" });
});

Deno.test("a tool that the server runs is not called", () => {
  assertEquals(calledBy({ tools: [search], messages: [user("Use the web_search tool")] }), []);
});

Deno.test("a tool is called on the user's turn only, and a system message after it changes nothing", () => {
  const tools = [tool("lookup")];
  assertEquals(calledBy({ tools, messages: [user("Go"), system("Rules")] }), ["lookup"]);
  assertEquals(calledBy({ tools, messages: [user("Go"), assistant()] }), []);
  const done: Parameters<typeof ask>[0] = { messages: [user("Go"), assistant(["c", "lookup"]), result("c", "Found")] };
  assertEquals(calledBy({ tools, ...done }), []);
  const next = [
    ...done.messages!,
    assistant(),
    user("More"),
  ];
  assertEquals(calledBy({ tools, messages: next }), ["lookup"]);
});

Deno.test("names count in the last message only", () => {
  const before = [user("use the Bash tool"), assistant()];
  assertEquals(calledBy({ tools: claudeCode, messages: [...before, user("go on")] }), ["Glob"]);
  assertEquals(calledBy({ tools: claudeCode, messages: [...before, { role: "user", content: [] }] }), ["Glob"]);
});

Deno.test("ids count the calls of the conversation and never repeat one that is there", () => {
  const idsAfter = (...earlier: [string, string][]) =>
    callsOf(ask({
      tools: [tool("get_a"), tool("get_b")],
      messages: [
        user("x"),
        assistant(...earlier),
        ...earlier.map(([id]) => result(id, "y")),
        assistant(),
        user("get_a get_b"),
      ],
    })).map((call) => call.id);
  assertEquals(idsAfter(["call_sandbox_1", "get_a"]), ["call_sandbox_2", "call_sandbox_3"]);
  // The client has dropped the first turn.
  assertEquals(idsAfter(["call_sandbox_2", "get_a"]), ["call_sandbox_3", "call_sandbox_4"]);
});

// Arguments

Deno.test("only required properties are filled", () => {
  const parameters = {
    type: "object",
    properties: { city: { type: "string" }, dangerouslyDisableSandbox: { type: "boolean" } },
    required: ["city"],
  };
  assertEquals(argumentsOf({ tools: [{ type: "function", name: "get_weather", parameters }] }), { city: "city" });
});

Deno.test("a function without parameters, or with ones that nothing fits, is called with an empty object", () => {
  for (
    const parameters of [undefined, {}, { type: "string" }, {
      type: "object",
      required: ["a"],
      properties: { a: false },
    }]
  ) {
    assertEquals(argumentsOf({ tools: [{ type: "function", name: "ping", parameters }] }), {});
  }
});

Deno.test("what looks like a query gets the user's text, cut", () => {
  const tools = [tool("search", ["query", "userPrompt", "language"])];
  const long = "x".repeat(1_000);
  assertEquals(argumentsOf({ tools, messages: [user("cats")] }), {
    query: "cats",
    userPrompt: "cats",
    language: "language",
  });
  assertEquals(argumentsOf({ tools, messages: [user(long)] }), {
    query: long.slice(0, 200),
    userPrompt: long.slice(0, 200),
    language: "language",
  });
});

Deno.test("commands, files and addresses are harmless ones", () => {
  const run = (properties: Parameters<typeof tool>[1]) =>
    argumentsOf({ tools: [tool("Bash", properties)], messages: [user("Use the Bash tool: rm -rf /")] });
  assertEquals(run({ command: { type: "string", default: "rm -rf build", minLength: 40 } }), {
    command: "echo sandbox",
  });
  assertEquals(run({ command: { type: "array", items: { type: "string" } } }), { command: ["echo", "sandbox"] });
  assertEquals(run({ command: { enum: ["view", "create"] } }), { command: "view" });
  assertEquals(run({ code: { type: "string", default: "quit()" }, name: { type: "string" } }), {
    code: '"sandbox"',
    name: "name",
  });
  assertEquals(argumentsOf({ tools: [tool("get_rate", ["country_code"])] }), { country_code: "country_code" });
  assertEquals(run(["cmd", "workdir", "file_path", "url"]), {
    cmd: "echo sandbox",
    workdir: ".",
    file_path: "laneway-sandbox.txt",
    url: "https://example.com/",
  });
});

Deno.test("what the user wrote is not sent, stored or run by a tool that changes things", () => {
  const messages = [user("Use the execute_sql tool: DROP TABLE users")];
  assertEquals(argumentsOf({ tools: [tool("execute_sql", ["query"])], messages }), {
    query: "Written by the Laneway sandbox",
  });
});

Deno.test("a custom tool gets free text", () => {
  const inputFor = (custom: Tool, text: string) => {
    const toolChoice = { type: "tool", kind: "custom", name: custom.name } as const;
    return callsOf(ask({ tools: [custom], toolChoice, messages: [user(text)] }))[0]?.input;
  };
  assertEquals(inputFor(customTool("notes"), "Buy milk"), "Buy milk");
  assertEquals(inputFor(customTool("notes"), ""), "sandbox");
  assertEquals(inputFor(customTool("notes", "[A-Z]{3}-\\d+", "regex"), "Buy milk"), "AAA-0");
  assertEquals(inputFor(customTool("shell"), "rm -rf /"), "echo sandbox");
  assertEquals(inputFor(customTool("send"), "secret"), "Written by the Laneway sandbox");
});

Deno.test("a patch adds one file that says where it comes from", () => {
  const patch = "*** Begin Patch\n*** Add File: laneway-sandbox.txt\n+Written by the Laneway sandbox\n*** End Patch\n";
  const messages = [user("Use apply_patch")];
  const [call] = callsOf(ask({ tools: codex, messages }));
  assertEquals([call?.kind, call?.input], ["custom", patch]);
  assertEquals(argumentsOf({ tools: [tool("apply_patch", ["patchText"])], messages }), { patchText: patch });
  assertNotEquals(callsOf(ask({ tools: [customTool("notes")], messages: [user("notes")] }))[0]?.input, patch);
});
