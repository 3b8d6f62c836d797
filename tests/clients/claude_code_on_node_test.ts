/** Claude Code in front of the gateway on Node. Both come from npm. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { answerStream, ENDING, frame, word } from "../support/chat.ts";
import { withClaudeCode } from "./claude_code.ts";
import { CLAUDE_CODE, install, NODE } from "./install.ts";
import { withStart } from "./node_gateway.ts";

const claude = await install(CLAUDE_CODE, "claude");
const node = await install(NODE, "node");

const CONFIG: ConfigInput = {
  upstreams: { scripted: { driver: "chat", baseUrl: "http://scripted.test/v1" }, sandbox: { driver: "sandbox" } },
  lanes: {
    oss: {
      models: {
        scripted: { task: "chat", targets: [{ upstream: "scripted", model: "scripted" }] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
  },
};
const AS_EVENTS = ["--output-format", "stream-json", "--verbose"];

/** Calls a tool first, and says a text after its result. */
function script(call: number, body: JsonObject): Response {
  const input = JSON.stringify({ command: "echo from-the-shell" });
  const tool = { index: 0, id: "call_1", type: "function", function: { name: "Bash", arguments: input } };
  return call > 0 || !JSON.stringify(body.tools ?? []).includes("Bash")
    ? answerStream([word("All done."), ENDING])
    : answerStream([
      frame({ delta: { role: "assistant", tool_calls: [tool] }, finish_reason: "tool_calls" }),
      "data: [DONE]\n\n",
    ]);
}

const missing = [claude, node].flatMap((one) => "reason" in one ? [one.reason] : []);

Deno.test({
  name: `Claude Code, the gateway on Node: a turn with a tool, and one without${
    missing.length > 0 ? ` (skipped: ${missing.join("; ")})` : ""
  }`,
  ignore: missing.length > 0,
  async fn() {
    if ("reason" in claude || "reason" in node) return;
    await withStart(node.program, (start) =>
      withClaudeCode(
        claude.program,
        CONFIG,
        async ({ run, sent, app }) => {
          const tools = ["--tools", "Bash", "--allowedTools", "Bash"];
          const first = await run(["Hello", "--model", "scripted", ...tools, ...AS_EVENTS]);
          assertEquals([first.result.is_error, first.result.result], [false, "All done."]);
          assertStringIncludes(JSON.stringify(sent.at(-1)!.messages), "from-the-shell");
          const second = await run(["Hello", "--model", "sandbox", "--tools", "", ...AS_EVENTS]);
          assertEquals(second.result.is_error, false);
          assertStringIncludes(String(second.result.result), "sandbox");
          assertEquals(new Set(app.logs.map(({ status }) => status)), new Set([200]));
        },
        script,
        start,
      ));
  },
});
