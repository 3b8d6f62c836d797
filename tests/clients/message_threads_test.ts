/** The helper for threads in the newest SDK of Messages, on Node, in front of the gateway. Needs Node, and npm to install it. */
import { assertEquals } from "@std/assert";
import { newApp } from "../support/app.ts";
import { KEY, KEYS } from "./codex.ts";
import { installLibraries, MESSAGES_SDK } from "./install.ts";
import { record } from "./recorder.ts";

const installed = await installLibraries([MESSAGES_SDK]);
const reason = "reason" in installed ? ` (skipped: ${installed.reason})` : "";

interface Line {
  step: string;
  value: unknown;
  sent: { status: number; thread?: string; messages: number; system: boolean }[];
}

Deno.test({
  name: `Messages' SDK: a thread, two that go on with one, one that was left, and errors${reason}`,
  ignore: reason !== "",
  async fn() {
    if ("reason" in installed) return;
    const config = {
      upstreams: { sandbox: { driver: "sandbox" } },
      lanes: {
        oss: { models: { sandbox: { task: "chat" as const, targets: [{ upstream: "sandbox", model: "sandbox" }] } } },
      },
      keys: KEYS,
    };
    const app = newApp({ config, now: Date.now });
    const { url, stop } = record(app);
    const program = `${installed.folder}/message_threads.mjs`;
    try {
      await Deno.copyFile(new URL("message_threads.mjs", import.meta.url), program);
      const { stdout, stderr } = await new Deno.Command("node", {
        args: [program, `${url}/oss`, KEY, MESSAGES_SDK.replace(/@[\d.]+$/, "")],
        stdin: "null",
        signal: AbortSignal.timeout(60_000),
      }).output();
      assertEquals(new TextDecoder().decode(stderr), "");
      const lines: Line[] = new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
      const steps = Object.fromEntries(lines.map(({ step, ...line }) => [step, line]));
      assertEquals(`@anthropic-ai/sdk@${steps.version!.value}`, MESSAGES_SDK);
      const turn = (thread: string, messages: number) => ({
        status: 200,
        thread,
        messages,
        system: thread === "create",
      });
      assertEquals(steps.one, { value: true, sent: [turn("create", 1)] });
      assertEquals(steps.two, { value: true, sent: [turn("continue", 1)] });
      assertEquals(steps.three, { value: true, sent: [turn("continue", 1)] });
      assertEquals(steps.fork, { value: 3, sent: [turn("create", 7)] });
      assertEquals(steps.errors!.value, [
        ["ThreadAlreadyContinuedError", 400, "thread_already_continued"],
        ["ThreadNotFoundError", 404, "thread_not_found"],
      ]);
      assertEquals([steps.aborted!.value, steps.aborted!.sent.at(-1)!.status], [true, 200]);
    } finally {
      await stop();
    }
  },
});
