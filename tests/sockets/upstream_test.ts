import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { formatLogLine } from "../../src/observe/log.ts";
import { CHAT, chatBody, ENV } from "../support/app.ts";
import { ANSWER, ENDING, frame, word } from "../support/chat.ts";
import { turns, until } from "../support/wait.ts";
import { testEach, withGateway } from "./gateway.ts";
import { type Asked, chunk, jsonAnswer, LAST_CHUNK, STREAM_HEAD, TcpUpstream } from "./tcp.ts";

interface Cut {
  stream: boolean;
  write: string;
}

const CUTS: Record<string, Cut> = {
  "before the head of a whole answer": { stream: false, write: "" },
  "inside a whole answer": { stream: false, write: jsonAnswer(ANSWER).slice(0, -20) },
  "before the head of a stream": { stream: true, write: "" },
  "after the head of a stream": { stream: true, write: STREAM_HEAD },
  "inside the first frame": { stream: true, write: STREAM_HEAD + chunk(word("one").slice(0, 20)) },
};

for (const [name, { stream, write }] of Object.entries(CUTS)) {
  testEach(`an upstream that cuts the connection ${name} is a 502, asked once`, async () => {
    await withGateway(async ({ app, url, upstream }) => {
      const answered = fetch(url + CHAT, { method: "POST", body: JSON.stringify(chatBody({ stream })) });
      const asked = await upstream.next();
      if (write) await asked.write(write);
      asked.cut();
      const response = await answered;
      const { error } = await response.json();
      assertEquals([response.status, error.code], [502, "upstream_error"]);
      assertEquals(upstream.asked.length, 1);
      assertEquals([app.logs[0]!.status, app.logs[0]!.error], [502, "upstream_error"]);
    }, { retry: { budgetMs: 5_000 } });
  });
}

const LATE_CUTS: Record<string, string> = {
  "between events": "",
  "inside a frame": word("two").slice(0, 20),
  "inside a tool call": frame({
    delta: { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: '{"a' } }] },
  }),
};

for (const [name, more] of Object.entries(LATE_CUTS)) {
  testEach(`an upstream that cuts the connection ${name} ends the stream with an error`, async () => {
    await withGateway(async ({ app, connect, upstream }) => {
      const client = await connect();
      await client.post(CHAT, chatBody({ stream: true }));
      const asked = await upstream.next();
      await asked.write(STREAM_HEAD + chunk(word("one") + more));
      await client.readUntil('"content":"one"');
      asked.cut();
      await client.readUntil(LAST_CHUNK);
      assertStringIncludes(client.text, '"code":"upstream_error"');
      assertStringIncludes(client.text, "connection to the upstream was lost");
      assert(!client.text.includes("[DONE]"));
      assertEquals(upstream.asked.length, 1);
      await until(() => app.logs.length === 1);
      assertEquals([app.logs[0]!.status, app.logs[0]!.error], [200, "upstream_error"]);
    });
  });
}

testEach("a request is sent once, although the connection that is used again dies", async () => {
  await withGateway(async ({ url, upstream }) => {
    const body = JSON.stringify(chatBody());
    const first = fetch(url + CHAT, { method: "POST", body });
    await (await upstream.next()).write(jsonAnswer(ANSWER));
    await (await first).body?.cancel();

    const second = fetch(url + CHAT, { method: "POST", body });
    const asked = await upstream.next();
    assertEquals(asked.connection, 0, "the connection was not used again, so this test tells nothing");
    asked.cut();
    const response = await second;
    assertEquals([response.status, (await response.json()).error.code], [502, "upstream_error"]);
    assertEquals(upstream.asked.length, 2);
    assertEquals(upstream.connections, 1);
  });
});

for (const stream of [false, true]) {
  testEach(
    `a redirect is not followed, and the secret goes nowhere else: ${stream ? "streamed" : "whole"}`,
    async () => {
      const other = new TcpUpstream();
      const test = withGateway(async ({ url, upstream }) => {
        for (const status of ["301 Moved Permanently", "307 Temporary Redirect"]) {
          const answered = fetch(url + CHAT, { method: "POST", body: JSON.stringify(chatBody({ stream })) });
          const asked = await upstream.next();
          await asked.write(
            `HTTP/1.1 ${status}\r\nlocation: ${other.baseUrl}/chat/completions\r\ncontent-length: 0\r\n\r\n`,
          );
          const response = await answered;
          const text = await response.text();
          assertEquals([response.status, response.headers.get("location")], [502, null]);
          assertStringIncludes(text, '"code":"upstream_error"');
          assert(!text.includes(other.baseUrl));
          assertEquals(asked.headers.get("authorization"), `Bearer ${ENV.UPSTREAM_SECRET}`);
        }
        assertEquals(upstream.asked.length, 2);
        assertEquals(other.connections, 0);
      });
      await test.finally(() => other.stop());
    },
  );
}

/** How an upstream may end its body after `[DONE]`; the last write comes apart from the others. */
const ENDS: Record<string, (asked: Asked) => Promise<void>> = {
  "at once": (asked) => asked.write(STREAM_HEAD + chunk(word("one") + ENDING) + LAST_CHUNK),
  "in a write of its own": async (asked) => {
    await asked.write(STREAM_HEAD + chunk(word("one") + ENDING));
    await asked.write(LAST_CHUNK);
  },
};

for (const [name, end] of Object.entries(ENDS)) {
  testEach(`the upstream's connection is used again after a stream that ends ${name}`, async () => {
    await withGateway(async ({ url, upstream }) => {
      for (let turn = 0; turn < 5; turn++) {
        const answered = fetch(url + CHAT, { method: "POST", body: JSON.stringify(chatBody({ stream: true })) });
        await end(await upstream.next());
        assertMatch(await (await answered).text(), /\[DONE\]\n\n$/);
        await turns(20);
      }
      assertEquals([upstream.asked.length, upstream.connections], [5, 1]);
    });
  });
}

testEach("an upstream that stays after [DONE] is not waited for", async () => {
  await withGateway(async ({ url, upstream }) => {
    const answered = fetch(url + CHAT, { method: "POST", body: JSON.stringify(chatBody({ stream: true })) });
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("one") + ENDING));
    assertMatch(await (await answered).text(), /\[DONE\]\n\n$/);
    await asked.left;
  });
});

testEach("an upstream that cannot be reached is a 502", async () => {
  await withGateway(async ({ app, url, upstream }) => {
    await upstream.stop();
    const response = await fetch(url + CHAT, { method: "POST", body: JSON.stringify(chatBody()) });
    assertEquals(response.status, 502);
    assertEquals((await response.json()).error.message, 'Cannot reach upstream "tcp"');
    assertMatch(JSON.parse(formatLogLine(app.logs[0]!)).cause, /refused/i);
    // It has taken nothing, so it was asked again.
    assertEquals(app.logs[0]!.attempts, 2);
  }, { retry: { rounds: 2, budgetMs: 5_000 } });
});

testEach("HEAD on the list is the head of GET, and the connection goes on", async () => {
  await withGateway(async ({ connect }) => {
    const client = await connect();
    await client.send("HEAD /oss/v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    await client.readUntil("\r\n\r\n");
    assertMatch(client.text, /^HTTP\/1\.1 200 OK\r\n/);
    assertMatch(client.text, /content-type: application\/json/i);
    const head = client.text.length;
    await client.send("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    await client.readUntil('{"status":"ok"}');
    assertMatch(client.text.slice(head), /^HTTP\/1\.1 200 OK\r\n/);
  });
});
