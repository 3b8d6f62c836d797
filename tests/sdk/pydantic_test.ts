/**
 * Every answer of every fixture, held to the vendors' own models for Python, which are stricter than their SDKs for this
 * language. `LANEWAY_PYTHON` names a Python that has the packages `openai` and `anthropic`; without it the test is ignored.
 */
import { assertEquals } from "@std/assert";
import { emittedAnswers } from "../support/emitted_answers.ts";

const PYTHON = Deno.env.get("LANEWAY_PYTHON");

/** What no model has, and why it is told all the same. */
const EXPECTED: readonly RegExp[] = [
  // What an upstream of a wire says that nobody knows rides through to clients of the same wire.
  /^(messages|responses) to \1, .*-of-an-unknown-kind/,
  /^messages to messages, ended-by-compaction:/,
  // The vendor streams calls of custom tools, which its model of a chunk leaves out.
  /delta\.tool_calls\.\d+\.type: Input should be 'function'$/,
  // Agents stop at these codes of a failure, which the model does not list.
  /^\w+ to responses, .*(context-length-exceeded|insufficient-quota|does-not-fit)/,
];

Deno.test({
  name: "pydantic: every answer is one that the vendors' own models take (ignored where LANEWAY_PYTHON is not set)",
  ignore: PYTHON === undefined,
  async fn() {
    const lines: string[] = [];
    for await (const { fixture, from, to, whole, frames } of emittedAnswers()) {
      const add = (mode: string, value: unknown) =>
        lines.push(JSON.stringify({ name: `${from} to ${to}, ${fixture}`, wire: to, mode, value }));
      if (whole) add("whole", whole);
      for (const { data } of frames) {
        if (data === undefined || data === "[DONE]") continue;
        const value = JSON.parse(data);
        const isOutside = ["ping", "error", "keepalive"].includes(value.type) || to === "chat" && "error" in value;
        if (!isOutside) add("streamed", value);
      }
    }
    const script = new URL("pydantic_models.py", import.meta.url).pathname;
    const child = new Deno.Command(PYTHON!, { args: [script], stdin: "piped", stdout: "piped" }).spawn();
    const output = child.output();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(lines.join("\n") + "\n"));
    await writer.close();
    const { success, stdout } = await output;
    assertEquals(success, true);
    const faults = new TextDecoder().decode(stdout).trim().split("\n").filter((line) => line !== "")
      .map((line) => JSON.parse(line)).map(({ name, fault }) => `${name}: ${fault}`);
    assertEquals(lines.length > 5_000, true);
    assertEquals(faults.filter((fault) => !EXPECTED.some((known) => known.test(fault))), []);
  },
});
