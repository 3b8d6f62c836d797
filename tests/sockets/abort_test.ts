import { assertEquals } from "@std/assert";
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import { send } from "../../src/upstream/send.ts";
import { delay, until } from "../support/wait.ts";

const CALLS = 100;

Deno.test({
  name: "a call that is aborted ends although nobody refers to its response any more",
  // The server of this process is left in the middle of its answers.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const word = new TextEncoder().encode("word ".repeat(20));
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
      const body = new ReadableStream({
        async pull(controller) {
          await delay(20);
          controller.enqueue(word);
        },
      }, { highWaterMark: 0 });
      return new Response(body);
    });
    const service = {
      name: "up",
      baseUrl: `http://127.0.0.1:${server.addr.port}`,
      headers: {},
      resultsFrom: [],
      transport: fetchTransport(fetch),
    };
    const stop = new AbortController();
    let [begun, ended] = [0, 0];
    const read = async () => {
      const { body } = await send({ path: "", method: "GET" }, service, stop.signal);
      begun++;
      while (await body!.read().catch(() => undefined));
      ended++;
    };
    for (let call = 0; call < CALLS; call++) void read();
    await until(() => begun === CALLS);
    // Long enough for what is not held to be collected.
    await delay(1_500);
    stop.abort();
    await until(() => ended === CALLS);
    assertEquals(ended, CALLS);
    await server.shutdown();
  },
});
