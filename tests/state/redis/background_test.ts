/** Responses in the background at two gateways on one server. */
import { assertEquals } from "@std/assert";
import OpenAI from "openai";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { openRedisStore } from "../../../src/state/redis/open.ts";
import { CONFIG, newApp } from "../../support/app.ts";
import { answerStream, ENDING, word } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { isRedisMissing, startRedis } from "../../support/redis_server.ts";
import { until } from "../../support/wait.ts";

Deno.test({
  name: "redis: what one gateway makes in the background, another polls, streams from any event on, and cancels",
  ignore: isRedisMissing,
  async fn() {
    const server = await startRedis();
    const config = { ...CONFIG, store: { kind: "redis" as const, url: { env: "STORE_URL" } } };
    const ends: PromiseWithResolvers<void>[] = [];
    const upstream = fakeUpstream(() => {
      const end = Promise.withResolvers<void>();
      ends.push(end);
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(word("One ")));
          await end.promise;
          controller.enqueue(new TextEncoder().encode(word("two") + ENDING));
          controller.close();
        },
      });
      return new Response(body, { headers: answerStream([]).headers });
    });
    const newOne = (name: string) => {
      let ids = 0;
      return newApp({
        config,
        env: { STORE_URL: server.url, UPSTREAM_SECRET: "x" },
        fetch: upstream.fetch,
        store: openRedisStore({ address: parseRedisUrl(server.url)!, now: Date.now }),
        now: Date.now,
        newId: () => `${name}${++ids}`,
      });
    };
    const [one, two] = [newOne("a"), newOne("b")];
    const clients = [one, two].map(({ fetch }) =>
      new OpenAI({
        baseURL: "http://gateway/oss/v1",
        apiKey: "x",
        maxRetries: 0,
        fetch: (input, init) => fetch(new Request(input, init)),
      })
    );
    const [own, other] = clients as [OpenAI, OpenAI];
    const hello = { model: "model", input: "Hello", background: true, stream: true } as const;
    const begin = async () => {
      const [first] = await Array.fromAsync(take(await own.responses.create(hello), 1));
      return (first as OpenAI.Responses.ResponseCreatedEvent).response.id;
    };
    try {
      const id = await begin();
      await until(() => ends.length === 1);
      await until(async () => (await other.responses.retrieve(id)).status === "in_progress");
      const stream = await other.responses.retrieve(id, { stream: true });
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of stream) {
        events.push(event);
        if (event.type === "response.output_text.delta") ends[0]!.resolve();
      }
      assertEquals(events.map(({ sequence_number }) => sequence_number), [...events.keys()]);
      assertEquals([events[0]!.type, events.at(-1)!.type], ["response.created", "response.completed"]);
      const rest = await other.responses.retrieve(id, { stream: true, starting_after: 3 });
      assertEquals(await Array.fromAsync(rest), events.slice(4));
      assertEquals((await other.responses.retrieve(id)).output_text, "One two");

      const second = await begin();
      await until(() => ends.length === 2);
      const cancelled = await other.responses.cancel(second);
      assertEquals([cancelled.status, (await own.responses.retrieve(second)).status], ["cancelled", "cancelled"]);
    } finally {
      for (const end of ends) end.resolve();
      await one.close();
      await two.close();
      await server.stop();
    }
  },
});

async function* take<T>(all: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  for await (const one of all) {
    yield one;
    if (--count === 0) return;
  }
}
