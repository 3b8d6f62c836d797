/** Streams that never end, from an upstream that counts who still listens. */
import { chunk, STREAM_HEAD, TcpUpstream } from "../sockets/tcp.ts";
import { delay } from "../support/wait.ts";

const WORD = chunk('data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n');

export const config = (baseUrl: string) => ({
  upstreams: { up: { driver: "chat", baseUrl } },
  lanes: { oss: { upstreams: { chat: "up" } } },
});

export const PATH = "/oss/v1/chat/completions";
export const BODY = { model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] };

export function post(url: string): Promise<Response> {
  return fetch(url + PATH, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(BODY),
  });
}

/** An upstream that says one word after the other until its caller leaves, and counts who is still there. */
export function talkative(everyMs: number) {
  const upstream = new TcpUpstream();
  const state = { open: 0, stopped: false };
  const served = (async () => {
    while (!state.stopped) {
      const asked = await upstream.next();
      state.open++;
      const left = asked.left.then(() => state.open--);
      void (async () => {
        await asked.write(STREAM_HEAD);
        while (!state.stopped) {
          await asked.write(WORD);
          await delay(everyMs);
        }
      })().catch(() => left); // The gateway has left.
    }
  })();
  const stop = async () => {
    state.stopped = true;
    await upstream.stop();
    void served;
  };
  return { baseUrl: upstream.baseUrl, state, stop };
}
