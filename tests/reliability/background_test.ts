/** Responses in the background and conversations, before gateways that are processes of their own on one database in a file. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { withFolder } from "../state/temp_folder.ts";
import { ENDING, word } from "../support/chat.ts";
import { type GatewayProcess, startGateway, writeConfig } from "../support/gateway_process.ts";
import { until } from "../support/wait.ts";
import { RARELY } from "./scale.ts";

const RESPONSES = "/oss/v1/responses";
const CONVERSATIONS = "/oss/v1/conversations";

/** One call of the upstream, which says nothing until it is told to. */
interface Call {
  answer(text: string): void;
  /** Whether the gateway has gone. */
  isLeft: boolean;
}

function startUpstream() {
  const calls: Call[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.body?.cancel();
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const call: Call = {
          isLeft: false,
          answer(text) {
            controller.enqueue(encoder.encode(word(text) + ENDING));
            controller.close();
          },
        };
        request.signal.addEventListener("abort", () => call.isLeft = true);
        controller.enqueue(encoder.encode(word("...")));
        calls.push(call);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  return { server, calls };
}

async function call({ url }: GatewayProcess, path: string, method = "GET", body?: object): Promise<JsonObject> {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { ...await response.json(), httpStatus: response.status };
}

const textOf = ({ output }: JsonObject) => JSON.stringify(output).match(/"text":"([^"]*)"/)?.[1];

const NAME = "background: gateways that are processes share responses and conversations in one file";

Deno.test({ name: NAME + RARELY.why, ignore: RARELY.ignore }, async (t) => {
  await withFolder(async (folder) => {
    const { server, calls } = startUpstream();
    const baseUrl = `http://127.0.0.1:${server.addr.port}/v1`;
    const config = await writeConfig(folder, baseUrl);
    let one = await startGateway(config);
    const other = await startGateway(config);
    const running: GatewayProcess[] = [one, other];

    const begin = async (gateway: GatewayProcess) => {
      const before = calls.length;
      const { id } = await call(gateway, RESPONSES, "POST", { model: "model", input: "Hello", background: true });
      await until(() => calls.length > before);
      return { path: `${RESPONSES}/${id}`, upstream: calls.at(-1)! };
    };
    const becomes = (gateway: GatewayProcess, path: string, status: string) =>
      until(async () => (await call(gateway, path)).status === status);

    try {
      await t.step("a change of the configuration leaves a response running", async () => {
        const { path, upstream } = await begin(one);
        const changed = JSON.parse(await Deno.readTextFile(config));
        changed.lanes.more = { upstreams: { chat: "fake" } };
        await Deno.writeTextFile(config, JSON.stringify(changed));
        Deno.kill(one.pid, "SIGHUP");
        await until(async () => (await call(one, "/more/v1/models")).httpStatus === 200);
        upstream.answer("after a reload");
        await becomes(one, path, "completed");
        assertEquals(textOf(await call(other, path)), "...after a reload");
      });

      await t.step("another gateway cancels one", async () => {
        const { path, upstream } = await begin(one);
        assertEquals((await call(other, path)).status, "in_progress");
        assertEquals((await call(other, `${path}/cancel`, "POST")).status, "cancelled");
        await until(() => upstream.isLeft);
        await becomes(one, path, "cancelled");
      });

      await t.step("another gateway deletes one, which stops it", async () => {
        const { path, upstream } = await begin(one);
        assertEquals((await call(other, path, "DELETE")).deleted, true);
        await until(() => upstream.isLeft);
        for (const gateway of [one, other]) assertEquals((await call(gateway, path)).httpStatus, 404);
      });

      await t.step("one comes to its end while its gateway drains", async () => {
        const { path, upstream } = await begin(one);
        const stopped = one.stop();
        running.shift();
        await until(async () =>
          await fetch(one.url).then((response) => response.body?.cancel()).then(() => false, () => true)
        );
        upstream.answer("before the end");
        assertEquals(await stopped, 0);
        assertEquals(textOf(await call(other, path)), "...before the end");
      });

      await t.step("what a killed gateway worked on has failed, and conversations are still there", async () => {
        one = await startGateway(config);
        running.push(one);
        const item = { type: "message", role: "user", content: "My word is plum." };
        const { id } = await call(one, CONVERSATIONS, "POST", { items: [item], metadata: { topic: "fruit" } });
        const { path } = await begin(one);
        running.pop();
        await one.kill();
        one = await startGateway(config);
        running.push(one);
        for (const gateway of [one, other]) {
          const { metadata } = await call(gateway, `${CONVERSATIONS}/${id}`);
          assertEquals(metadata, { topic: "fruit" });
          assertStringIncludes(JSON.stringify(await call(gateway, `${CONVERSATIONS}/${id}/items`)), "plum");
        }
        await becomes(one, path, "failed");
        const { error } = await call(other, path);
        assertStringIncludes((error as JsonObject).message as string, "The gateway was stopped while it worked");
      });
    } finally {
      await Promise.all(running.map((gateway) => gateway.kill()));
      await server.shutdown();
    }
  });
});
