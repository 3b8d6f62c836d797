/** An answer that is cut off has its line in the log, and no other. */
import { assertEquals } from "@std/assert";
import { word } from "../support/chat.ts";
import { GATEWAY_ENV, gatewayArgs } from "../support/gateway_process.ts";
import { withFolder } from "../support/process.ts";
import { until, within } from "../support/wait.ts";

Deno.test("serve: a client that reads nothing of its stream has one line in the log, and nothing else is printed", async () => {
  await withFolder(async (folder) => {
    const upstream = endless();
    const config = `${folder}/gateway.json`;
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        upstreams: { fake: { driver: "chat", baseUrl: `http://127.0.0.1:${upstream.addr.port}/v1` } },
        lanes: { oss: { upstreams: { chat: "fake" } } },
        limits: { sendStallMs: 500, answerText: 2 ** 30 },
        store: { kind: "memory" },
      }),
    );
    const child = new Deno.Command(Deno.execPath(), {
      args: gatewayArgs(["--config", config, "--port", "0"]),
      cwd: new URL("../../", import.meta.url),
      env: GATEWAY_ENV,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const [log, said] = [textOf(child.stdout), textOf(child.stderr)];
    await until(() => said.text.includes("Keys: "));
    const port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(said.text)![1]);
    const client = await Deno.connect({ hostname: "127.0.0.1", port });
    const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] });
    const head =
      `POST /oss/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n`;
    await client.write(new TextEncoder().encode(head + body));
    await until(() => log.text.includes(`"status":499`));
    const before = said.text;
    client.close();
    child.kill("SIGINT");
    await within(Promise.all([child.status, log.isOver, said.isOver]));
    await upstream.shutdown();
    assertEquals(log.text.trim().split("\n").length, 1, log.text);
    assertEquals(said.text.slice(before.length).includes("without a log line"), false, said.text);
    assertEquals(before.includes("without a log line"), false, before);
  });
});

/** An upstream whose answers never end. */
function endless(): Deno.HttpServer<Deno.NetAddr> {
  const piece = new TextEncoder().encode(word("Z".repeat(64 * 1024)));
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(piece) }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
}

function textOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): { text: string; isOver: Promise<void> } {
  const read = { text: "", isOver: Promise.resolve() };
  read.isOver = (async () => {
    for await (const piece of stream.pipeThrough(new TextDecoderStream())) read.text += piece;
  })();
  return read;
}
