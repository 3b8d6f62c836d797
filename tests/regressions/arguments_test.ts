/** Arguments that are not JSON (issue 6, item 4): repaired where that is certain and configured, else passed on as they came. */
import { assertEquals } from "@std/assert";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { ask, bodyFor, call, chatStream, chatWhole, CONFIG, type Mode, PATH, responseOf, testEach } from "./support.ts";

const REPAIRING = {
  ...CONFIG,
  upstreams: { ...CONFIG.upstreams, chat: { ...CONFIG.upstreams.chat, repairArguments: true } },
};
const TOOLS = [{
  name: "run",
  description: "To run",
  schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
}];
const LOOSE = "{'command': 'echo \"hi\"',}";
const CUT = '{"command": "rm -rf /tmp/x';

function answerOf(args: string, mode: Mode, finish = "tool_calls"): Response {
  return responseOf({
    frames: chatStream([
      { tool_calls: [call("run", "", { index: 0 })] },
      ...args.match(/[^]{1,5}/g)!.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
    ], finish),
    whole: chatWhole({ content: null, tool_calls: [call("run", args)] }, finish),
  }, mode);
}

testEach("Arguments", "with one way to read them are JSON, and the client is told", {}, async (client, mode) => {
  const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" });
  const { said, headers, frames } = await ask(client, body, [() => answerOf(LOOSE, mode)], { config: REPAIRING });
  assertEquals(said.map(({ id: _, ...rest }: Record<string, unknown>) => rest), [
    { call: "run", input: { command: 'echo "hi"' } },
  ]);
  // The head of a stream has what is known when it goes out, and a comment the rest.
  const late = frames.map(({ comment }) => comment).join("").replace("notes: ", "");
  assertEquals(headers.get("x-laneway-notes") ?? late, "repaired arguments of run");
});

/** The arguments of an answer's only call, as they came out. */
async function argumentsIn(response: Response, mode: Mode): Promise<string> {
  if (mode === "whole") return (await response.json()).choices[0].message.tool_calls[0].function.arguments;
  const frames = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"));
  return frames.map((line) => {
    const [choice] = JSON.parse(line.slice(6)).choices;
    return choice?.delta.tool_calls?.[0].function.arguments ?? "";
  }).join("");
}

testEach(
  "Arguments",
  "that were cut, or that nobody can read, come as they are",
  { clients: ["chat"] },
  async (_, mode) => {
    for (const [args, finish] of [[CUT, "tool_calls"], [LOOSE, "length"]] as const) {
      const upstream = fakeUpstream(() => answerOf(args, mode, finish));
      const app = newApp({ config: REPAIRING, fetch: upstream.fetch });
      const body = bodyFor("chat", { tools: TOOLS, stream: mode === "streamed" });
      assertEquals(await argumentsIn(await app.post(PATH.chat, body), mode), args);
    }
  },
);

testEach("Arguments", "come as they are where nothing else is configured", { clients: ["chat"] }, async (_, mode) => {
  const upstream = fakeUpstream(() => answerOf(LOOSE, mode));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const body = bodyFor("chat", { tools: TOOLS, stream: mode === "streamed" });
  assertEquals(await argumentsIn(await app.post(PATH.chat, body), mode), LOOSE);
});

testEach("Arguments", "that are not JSON stand inside an object where a protocol needs one, and the client is told", {
  clients: ["messages"],
  modes: ["whole"],
}, async (client, mode) => {
  const { said, headers } = await ask(client, bodyFor(client, { tools: TOOLS }), [() => answerOf(CUT, mode)]);
  assertEquals(said, [{ call: "run", input: { input: CUT }, id: "call_run" }]);
  assertEquals(headers.get("x-laneway-notes"), "wrapped arguments of run that are not JSON");
});
