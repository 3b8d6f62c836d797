import { assertEquals } from "@std/assert";
import { BackpressuredSocket } from "../../src/socket/socket_backpressure.ts";
import { deno } from "../../src/platform/deno.ts";
import { frame, OPCODE, RawWebSocket } from "../sockets/raw_websocket.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { within } from "../support/wait.ts";

/** When the gateway closes a connection, and which of its functions are called. */
const WHEN = {
  "while it is being made": ["end", "closed"],
  "at a message, after which no further one counts": ["message", "end", "closed"],
};

for (const [when, calls] of Object.entries(WHEN)) {
  Deno.test(`channel: a connection is closed ${when}, and the client learns why`, async () => {
    const log: string[] = [];
    const isClosed = Promise.withResolvers<void>();
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
      const { socket, response, drop } = deno.upgrade!(request);
      const channel = new BackpressuredSocket({ socket, drop }, {
        sendStallMs: 1_000,
        onMessage() {
          log.push("message");
          channel.close(1000, "Too old");
        },
        onEnd() {
          log.push("end");
          // Messages may come on until the client has closed its end, too.
          socket.dispatchEvent(new MessageEvent("message", { data: "late" }));
        },
        onClosed() {
          log.push("closed");
          isClosed.resolve();
        },
      });
      if (!calls.includes("message")) channel.close(1000, "Too old");
      return response;
    });
    try {
      const client = new WebSocket(`ws://127.0.0.1:${server.addr.port}/`);
      client.onopen = () => ["one", "two", "three"].forEach((text) => client.send(text));
      const { promise, resolve } = Promise.withResolvers<CloseEvent>();
      client.onclose = resolve;
      const { code, reason } = await within(promise);
      await within(isClosed.promise);
      assertEquals([code, reason, log], [1000, "Too old", calls]);
    } finally {
      await server.shutdown();
    }
  });
}

Deno.test("channel: a connection that is never made, because its client has left, is given up", async () => {
  for (const isClosedBefore of [false, true]) {
    await withFakeClock(async (clock) => {
      const log: string[] = [];
      const socket = Object.assign(new EventTarget(), { readyState: WebSocket.CONNECTING, bufferedAmount: 0 });
      const channel = new BackpressuredSocket({ socket: socket as unknown as WebSocket, drop() {} }, {
        sendStallMs: 1_000,
        onMessage() {},
        onEnd: () => void log.push("end"),
        onClosed: () => void log.push("closed"),
      });
      if (isClosedBefore) channel.close(1000, "Too old");
      await clock.advance(9_999);
      assertEquals(log, isClosedBefore ? ["end"] : []);
      await clock.advance(1);
      assertEquals([log, channel.isOver], [["end", "closed"], true]);
      await clock.advance(10_000);
      assertEquals(clock.waiting(), 0);
    });
  }
});

/** How the gateway ends a connection whose client is in the middle of a message and confirms nothing. */
const HOW: Record<string, (channel: BackpressuredSocket) => void> = {
  "is closed, once it has had some time to confirm it": (channel) => channel.close(1000, "Too old"),
  "is ended at once": (channel) => channel.end(1013, "Short of memory"),
};

for (const [what, run] of Object.entries(HOW)) {
  Deno.test(`channel: a connection ${what}, although its client is in the middle of a message`, async () => {
    const isClosed = Promise.withResolvers<void>();
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
      const { response, ...upgraded } = deno.upgrade!(request);
      const options = { sendStallMs: 1_000, onMessage() {}, onEnd() {}, onClosed: () => isClosed.resolve() };
      const channel = new BackpressuredSocket(upgraded, options);
      upgraded.socket.onopen = () => run(channel);
      return response;
    });
    const client = await RawWebSocket.open(server.addr.port);
    try {
      await client.write(frame(OPCODE.text, "{", { claimedLength: 2 ** 20 }));
      assertEquals((await client.readToEnd())?.opcode, OPCODE.close);
      await within(isClosed.promise);
    } finally {
      client.close();
      await server.shutdown();
    }
  });
}

Deno.test("channel: a connection that is ended while it is made ends, although its client goes on with a message", async () => {
  const isClosed = Promise.withResolvers<void>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { response, ...upgraded } = deno.upgrade!(request);
    const options = { sendStallMs: 1_000, onMessage() {}, onEnd() {}, onClosed: () => isClosed.resolve() };
    const channel = new BackpressuredSocket(upgraded, options);
    channel.end(1013, "Short of memory");
    // The time after which it would be ended by force is over before it is open.
    return new Promise((resolve) => setTimeout(() => resolve(response), 50));
  });
  const client = await RawWebSocket.open(server.addr.port);
  try {
    await client.write(frame(OPCODE.text, "{", { claimedLength: 2 ** 20 }));
    await client.readToEnd();
    await within(isClosed.promise);
  } finally {
    client.close();
    await server.shutdown();
  }
});
