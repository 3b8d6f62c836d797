import { assertEquals, assertStringIncludes } from "@std/assert";
import OpenAI from "openai";
import { within } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);

/** Starts `examples/library/main.ts` as its head says, on a free port, and stops it after `use`. */
async function withLibrary(use: (url: string) => Promise<void>): Promise<void> {
  const options = ["--no-prompt", "--allow-net=127.0.0.1", "--host", "127.0.0.1", "--port", "0"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["serve", ...options, "examples/library/main.ts"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const serving = Promise.withResolvers<string>();
  const reading = (async () => {
    let text = "";
    for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const [url] = /http:\/\/[\d.:]+/.exec(text) ?? [];
      if (url) serving.resolve(url);
    }
    serving.reject(new Error(`It did not start: ${text}`));
  })();
  try {
    await use(await within(serving.promise));
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await reading;
  }
}

Deno.test("library: a program serves models beside pages of its own", async () => {
  await withLibrary(async (url) => {
    assertEquals(await (await fetch(url)).text(), "A page of the program's own\n");
    const client = new OpenAI({ baseURL: `${url}/ai/oss/v1`, apiKey: "none", maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "Hello" }];
    const answer = await client.chat.completions.create({ model: "sandbox", messages });
    const stream = await client.chat.completions.create({ model: "sandbox", messages, stream: true });
    let text = "";
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
    assertEquals(text, answer.choices[0]!.message.content);
    assertStringIncludes(text, "sandbox");
  });
});
