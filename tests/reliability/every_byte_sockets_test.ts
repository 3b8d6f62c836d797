/** A sample of `every_byte_test.ts`, with an upstream, a gateway and a client that are connected by sockets. */
import { CONFIG, newApp } from "../support/app.ts";
import { boundariesOf } from "../support/chunks.ts";
import { answerBytes, isStream, loadFixtures } from "../support/fixtures.ts";
import { WIRES } from "../support/wires.ts";
import { assertRight, CLIENTS, comparable, inTime } from "./endings.ts";
import { report, scaled } from "./scale.ts";

const HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";

type Death = "breaks" | "hangs" | "closes";

/** An upstream that sends these bytes to each who asks, and then dies. */
function dyingUpstream() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const next: { bytes: Uint8Array; death: Death } = { bytes: new Uint8Array(), death: "closes" };
  const answer = async (connection: Deno.Conn) => {
    const { bytes, death } = next;
    const text = new TextEncoder();
    // Nothing of what is asked matters, but that it has come whole.
    for (let asked = ""; !/\r\n\r\n.*\}$/s.test(asked);) {
      const piece = new Uint8Array(65_536);
      const length = await connection.read(piece);
      if (length === null) return connection.close();
      asked += new TextDecoder().decode(piece.subarray(0, length));
    }
    const parts = bytes.length > 0 ? [text.encode(`${bytes.length.toString(16)}\r\n`), bytes, text.encode("\r\n")] : [];
    const end = death === "closes" ? [text.encode("0\r\n\r\n")] : [];
    await new Blob([text.encode(HEAD), ...parts, ...end] as BlobPart[]).stream().pipeTo(connection.writable, {
      preventClose: true,
    });
    if (death === "hangs") await connection.read(new Uint8Array(1)).catch(() => {}); // until the gateway hangs up
    connection.close();
  };
  const serving = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      void answer(connection).catch(() => {}).finally(() => open.delete(connection));
    }
  })();
  const stop = async () => {
    listener.close();
    for (const connection of open) connection.close();
    await serving.catch(() => {});
  };
  return { next, baseUrl: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}/v1`, stop };
}

for (const wire of WIRES) {
  Deno.test(`every byte, over sockets: a ${wire.name} upstream that dies leaves each client one right ending`, async () => {
    const upstream = dyingUpstream();
    const timeouts = { firstEventMs: 300, idleMs: 300 };
    const config = {
      ...CONFIG,
      upstreams: { ...CONFIG.upstreams, fake: { driver: wire.name, baseUrl: upstream.baseUrl, timeouts } },
    };
    const app = newApp({ config, env: {}, fetch, pace: { keepAliveMs: 3_600_000 } });
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request, info) => app.fetch(request, info),
    );
    const ask = async (path: string) => {
      const body = { model: "model", max_tokens: 100, stream: true, store: false, input: "Hello" };
      const response = await fetch(`http://127.0.0.1:${server.addr.port}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...body, messages: [{ role: "user", content: "Hello" }] }),
      });
      return { ok: response.ok, text: await response.text() };
    };
    let tried = 0;
    try {
      const fixtures = loadFixtures(wire.name).filter(isStream);
      const step = Math.ceil(fixtures.length / scaled(20, 3));
      for (const [number, fixture] of fixtures.filter((_, index) => index % step === 0).entries()) {
        const bytes = answerBytes(fixture);
        const frames = boundariesOf(bytes);
        for (const shape of Object.values(CLIENTS)) {
          Object.assign(upstream.next, { bytes, death: "closes" });
          const whole = comparable((await ask(shape.path)).text);
          const deaths: [Death, number][] = [
            ["breaks", (7919 * (number + 1)) % bytes.length],
            ["breaks", bytes.length >> 1],
            ["closes", frames[frames.length >> 1]!],
            ["hangs", frames[number % frames.length]!],
          ];
          for (const [death, at] of deaths) {
            Object.assign(upstream.next, { bytes: bytes.slice(0, at), death });
            const place = `${fixture.name} ${death} after ${at} bytes`;
            const outcome = await inTime(ask(shape.path), place);
            assertRight(outcome, whole, { shape, where: `${place}: ${outcome.text}`, isWhole: true });
            tried++;
          }
        }
      }
    } finally {
      app.abort();
      await server.shutdown();
      await upstream.stop();
    }
    report(`${wire.name} over sockets: ${tried} deaths`);
  });
}
