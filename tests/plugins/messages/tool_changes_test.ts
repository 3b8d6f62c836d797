/** Tools that come and go amid a conversation: the model is offered those that stand at its end. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { newApp } from "../../support/app.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { ask, CONFIG, objectOf, PATH, shortAnswer, type View, type Wire } from "../../regressions/support.ts";

const SCHEMA = { type: "object", properties: {} };

function tool(name: string, more: JsonObject = {}): JsonObject {
  return { name, description: name, input_schema: SCHEMA, ...more };
}

const reference = (name: string) => ({ type: "tool_reference", name });
const add = (name: string) => ({ type: "tool_addition", tool: reference(name) });
const remove = (name: string) => ({ type: "tool_removal", tool: reference(name) });
const define = (definition: JsonObject) => ({ type: "tool_addition", tool: { type: "tool_definition", definition } });
const ASKED = { role: "user", content: "fix" };

function conversation(tools: JsonObject[], ...changes: JsonObject[][]): JsonObject {
  const turns = changes.flatMap((content) => [{ role: "system", content }, ASKED]);
  return { max_tokens: 99, ...(tools.length > 0 && { tools }), messages: [ASKED, ...turns] };
}

async function tell(upstream: Wire, body: JsonObject): Promise<{ asked: JsonObject; view: View }> {
  const view = await ask("messages", { model: upstream, ...body }, [() => shortAnswer(upstream)]);
  assertEquals([view.status, view.error], [200, undefined]);
  return { asked: view.asked[0]!, view };
}

function offeredIn({ tools = [] }: JsonObject): unknown[] {
  return (tools as JsonObject[]).map((one) => objectOf(one.function ?? one).name);
}

const OPEN = ["chat", "responses"] as const;

const CASES: { title: string; body: JsonObject; offered: string[] }[] = [
  {
    title: "a deferred tool that a turn adds, and none that no turn mentions",
    body: conversation([tool("Bash"), tool("Lazy", { defer_loading: true }), tool("Later", { defer_loading: true })], [
      add("Lazy"),
    ]),
    offered: ["Bash", "Lazy"],
  },
  {
    title: "no tool that a turn takes away",
    body: conversation([tool("a"), tool("b")], [remove("a")]),
    offered: ["b"],
  },
  { title: "a tool that a turn defines", body: conversation([tool("a")], [define(tool("b"))]), offered: ["a", "b"] },
  { title: "a defined tool alone", body: conversation([], [define(tool("b"))]), offered: ["b"] },
  {
    title: "a tool that a turn defines anew",
    body: conversation([tool("a")], [define(tool("a", { description: "newer" }))]),
    offered: ["a"],
  },
  {
    title: "the last of several changes",
    body: conversation([tool("a")], [remove("a"), define(tool("b"))], [add("a"), remove("b")]),
    offered: ["a"],
  },
  {
    title: "a defined tool that comes back",
    body: conversation([tool("a")], [define(tool("b"))], [remove("b")], [add("b")]),
    offered: ["a", "b"],
  },
  {
    title: "no deferred tool that was taken away again",
    body: conversation([tool("a"), tool("b", { defer_loading: true })], [add("b")], [remove("b")]),
    offered: ["a"],
  },
  {
    title: "the changes that a summary carries",
    body: {
      max_tokens: 99,
      tools: [tool("a"), tool("b", { defer_loading: true })],
      messages: [
        {
          role: "assistant",
          content: [{
            type: "compaction",
            content: "Before",
            tool_changes: [remove("a"), add("b"), define(tool("c"))],
          }],
        },
        ASKED,
      ],
    },
    offered: ["b", "c"],
  },
];

for (const { title, body, offered } of CASES) {
  for (const upstream of OPEN) {
    Deno.test(`tool changes: the model is offered ${title} · ${upstream}`, async () => {
      assertEquals(offeredIn((await tell(upstream, body)).asked).sort(), offered);
    });
  }
  Deno.test(`tool changes: an upstream of the same wire reads the turns themselves (${title})`, async () => {
    const { asked, view } = await tell("messages", body);
    assertEquals(view.headers.get("x-laneway-notes"), null);
    assertEquals(asked.tools, body.tools);
    assertEquals(asked.messages, body.messages);
  });
}

for (const upstream of OPEN) {
  Deno.test(`tool changes: a redefined tool is the new one · ${upstream}`, async () => {
    const body = conversation([tool("a")], [define(tool("a", { description: "newer" }))]);
    const { asked } = await tell(upstream, body);
    const tools = asked.tools as JsonObject[];
    assertEquals(tools.map((one) => objectOf(one.function ?? one).description), ["newer"]);
  });

  Deno.test(`tool changes: the model is told in words, and the client by a note · ${upstream}`, async () => {
    const body = conversation([tool("a")], [remove("a"), define(tool("b"))]);
    const { asked, view } = await tell(upstream, body);
    const said = JSON.stringify(asked.messages ?? asked.input);
    assert(said.includes("The tool a is no longer available."), said);
    assert(said.includes("The tool b is now available."), said);
    const notes = view.headers.get("x-laneway-notes") ?? "";
    assert(notes.includes("tool_removal") && notes.includes("tool_addition"), notes);
  });
}

Deno.test("tool changes: a forced tool that a turn defines can be forced at every upstream", async () => {
  const body = { ...conversation([], [define(tool("b"))]), tool_choice: { type: "tool", name: "b" } };
  assertEquals((await tell("chat", body)).asked.tool_choice, { type: "function", function: { name: "b" } });
  assertEquals((await tell("messages", body)).asked.tool_choice, body.tool_choice);
});

Deno.test("tool changes: a definition that is none is refused", async () => {
  const body = conversation([], [define({ description: "nameless" })]);
  const view = await ask("messages", { model: "chat", ...body }, [() => shortAnswer("chat")]);
  assertEquals([view.status, view.asked.length], [400, 0]);
});

Deno.test("tool changes: a search of the web that a turn takes away is not run", async () => {
  const search = { type: "web_search_20250305", name: "web_search" };
  const config = { ...CONFIG, hostedTools: { webSearch: { backend: "searxng", baseUrl: "http://search.test" } } };
  const asked = async (...turns: JsonObject[][]) => {
    const body = { model: "chat", ...conversation([tool("a"), search], ...turns) };
    const view = await ask("messages", body, [() => shortAnswer("chat")], { config: config as typeof CONFIG });
    return offeredIn(view.asked[0]!);
  };
  assertEquals(await asked(), ["a", "web_search"]);
  assertEquals(await asked([remove("web_search")]), ["a"]);
});

Deno.test("tool changes: the sandbox calls no tool that a turn has taken away", async () => {
  const app = newApp({ fetch: fakeUpstream().fetch });
  const said = async (...turns: JsonObject[][]) => {
    const { messages, ...rest } = conversation([tool("get_weather")], ...turns);
    const last = { role: "user", content: "Call get_weather" };
    const response = await app.post(PATH.messages, {
      model: "sandbox",
      ...rest,
      messages: [...messages as JsonObject[], { role: "assistant", content: "Yes?" }, last],
    }, {});
    return (await response.json()).stop_reason;
  };
  assertEquals(await said([]), "tool_use");
  assertEquals(await said([remove("get_weather")]), "end_turn");
});

Deno.test("tool changes: one of a remote server's tools is not the client's own of the same name", async () => {
  const gone = { type: "tool_removal", tool: { type: "mcp_tool_reference", server_name: "hub", name: "a" } };
  const { asked } = await tell("chat", conversation([tool("a")], [gone]));
  assertEquals(offeredIn(asked), ["a"]);
  assert(JSON.stringify(asked.messages).includes("The tool a of hub is no longer available."));
});

Deno.test("tool changes: all tools of a remote server come and go", async () => {
  const set = { type: "mcp_toolset", mcp_server_name: "hub" };
  const reference = { type: "mcp_toolset_reference", server_name: "hub" };
  const servers = { mcp_servers: [{ type: "url", name: "hub", url: "https://hub.test/mcp" }] };
  const notes = async (...changes: JsonObject[][]) => {
    const { view } = await tell("chat", { ...conversation([tool("a"), set], ...changes), ...servers });
    return view.headers.get("x-laneway-notes") ?? "";
  };
  assert((await notes()).includes("dropped tool"), "the set is offered");
  assert(!(await notes([{ type: "tool_removal", tool: reference }])).includes("dropped tool"));
});

for (const words of ["Invalid request Error", "messages.1.content.0: unknown block type tool_removal"]) {
  Deno.test(`tool changes: a server of the same wire that refuses them is asked with the tools as they stand (${words})`, async () => {
    const refused = (asked: { body: string }) => /"type":"tool_(addition|removal)"/.test(asked.body);
    const refusal = { type: "error", error: { type: "invalid_request_error", message: words } };
    const fake = fakeUpstream((asked) =>
      refused(asked) ? Response.json(refusal, { status: 400 }) : shortAnswer("messages")
    );
    const app = newApp({ config: CONFIG, fetch: fake.fetch });
    const tools = [tool("a"), tool("b"), tool("c", { defer_loading: true })];
    const body = { model: "messages", ...conversation(tools, [remove("a"), add("c"), define(tool("d"))]) };
    for (const most of [2, 3]) {
      const before = fake.asked.length;
      const response = await app.post(PATH.messages, body, {});
      assertEquals(response.status, 200);
      assert((response.headers.get("x-laneway-notes") ?? "").includes("tool changes in words"));
      await response.body?.cancel();
      assert(fake.asked.length - before <= most, String(fake.asked.length - before));
      const sent = JSON.parse(fake.asked.at(-1)!.body);
      assertEquals(offeredIn(sent), ["b", "c", "d"]);
      assert(!JSON.stringify(sent).includes("defer_loading"));
      assert(JSON.stringify(sent).includes("The tool a is no longer available."));
    }
  });
}
