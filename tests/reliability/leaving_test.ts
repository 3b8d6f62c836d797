import { assertEquals, assertLess } from "@std/assert";
import { startGateway } from "../support/gateway_process.ts";
import { type Asked, chunk, jsonAnswer, postHead, STREAM_HEAD, TcpClient, TcpUpstream } from "../sockets/tcp.ts";
import { ANSWER, word } from "../support/chat.ts";
import { delay, within } from "../support/wait.ts";
import { IS_FULL, report, scaled } from "./scale.ts";

/** How long an upstream may go on for nobody, in milliseconds. */
const LIMIT_MS = 50;
const TIMES = scaled(50, 2, 20);
/** Of two targets that are asked there may be so many in a row. */
const MOST_HEDGES = 10;
const RETRY_MS = 1_000;

/** What a client of each protocol posts, and how it reads the word "one". */
const PROTOCOLS = {
  chat: {
    path: "v1/chat/completions",
    ask: (content: string) => ({ messages: [{ role: "user", content }] }),
    one: '"content":"one"',
  },
  messages: {
    path: "v1/messages",
    ask: (content: string) => ({ max_tokens: 99, messages: [{ role: "user", content }] }),
    one: '"text":"one"',
  },
  responses: { path: "v1/responses", ask: (input: string) => ({ store: false, input }), one: '"delta":"one"' },
};
const ALL = Object.values(PROTOCOLS);

/** One client on its way, before an upstream that does what the phase says. */
interface Scene {
  client: TcpClient;
  upstream: TcpUpstream;
  connect(): Promise<TcpClient>;
  post(to: { lane?: string; stream: boolean; client?: TcpClient; text?: string }): Promise<void>;
  /** What tells a client of this protocol the word "one". */
  one: string;
  /** Once the gateway has come as far as it can with what it was sent. */
  settled(): Promise<void>;
}

interface Phase {
  /** Where they make a difference. */
  protocols?: typeof ALL;
  /** What its clients ask, other than a word. */
  texts?: readonly string[];
  times?: number;
  /** Brings it to where the client leaves. Returns the calls that are open then; where there is none, the log tells when. */
  reach(scene: Scene): Promise<readonly Asked[]>;
  /** What is to be seen once the client has left. */
  after?(scene: Scene): Promise<void>;
  /** How long nobody may be asked once the last client has left, in milliseconds. */
  quietMs?: number;
}

/** A request of many packets: Deno tells of a client that has left it only when its answer has begun. */
const LONG = "word ".repeat(20_000);
const HALF_AN_ANSWER = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{";
const SPEECH_HEAD = STREAM_HEAD.replace("text/event-stream", "audio/mpeg");
/** As much as tells what format it is. */
const FIRST_SOUND = "ID3".padEnd(100, ".");
const LATER = jsonAnswer({ error: { message: "Later" } }, `503 Service Unavailable\r\nretry-after: ${RETRY_MS / 1000}`);

/** A stream of which the client has the first word. */
async function begin({ client, upstream, post, one }: Scene): Promise<Asked> {
  await post({ stream: true });
  const asked = await upstream.next();
  await asked.write(STREAM_HEAD + chunk(word("one")));
  await client.readUntil(one);
  return asked;
}

const PHASES: Record<string, Phase> = {
  "in the line for an upstream": {
    protocols: ALL,
    async reach({ upstream, connect, post, settled }) {
      await post({ lane: "narrow", stream: false, client: await connect() });
      await upstream.next();
      await post({ lane: "narrow", stream: true });
      await settled();
      return [];
    },
    async after({ upstream, connect, post }) {
      const next = await connect();
      await post({ lane: "narrow", stream: false, client: next, text: "next" });
      await upstream.asked.at(-1)!.write(jsonAnswer(ANSWER));
      const asked = await upstream.next();
      assertEquals(JSON.parse(asked.body).messages[0].content, "next");
      await asked.write(jsonAnswer(ANSWER));
      await next.readUntil("whole");
    },
  },
  "before the upstream's head, streamed": {
    protocols: ALL,
    async reach({ upstream, post }) {
      await post({ stream: true });
      return [await upstream.next()];
    },
  },
  "before the upstream's head, whole": {
    protocols: ALL,
    async reach({ upstream, post }) {
      await post({ stream: false });
      return [await upstream.next()];
    },
  },
  "before the upstream's first event": {
    protocols: ALL,
    async reach({ upstream, post, settled }) {
      await post({ stream: true });
      const asked = await upstream.next();
      await asked.write(STREAM_HEAD);
      await settled();
      return [asked];
    },
  },
  "amid the words of a stream": {
    protocols: ALL,
    texts: ["Hello", LONG],
    async reach(scene) {
      const asked = await begin(scene);
      let gone = false;
      void asked.left.then(() => gone = true);
      void (async () => {
        while (!gone) {
          await asked.write(chunk(word("more")));
          await delay(1);
        }
      })().catch(() => {}); // The gateway has left.
      await scene.client.readUntil("more", 3);
      return [asked];
    },
  },
  "in a pause of a stream": {
    protocols: ALL,
    texts: ["Hello", LONG],
    async reach(scene) {
      const asked = await begin(scene);
      await delay(100);
      return [asked];
    },
  },
  "amid a whole answer": {
    protocols: ALL,
    async reach({ upstream, post, settled }) {
      await post({ stream: false });
      const asked = await upstream.next();
      await asked.write(HALF_AN_ANSWER);
      await settled();
      return [asked];
    },
  },
  "in the pause before a retry": {
    async reach({ upstream, post, settled }) {
      await post({ stream: true });
      await (await upstream.next()).write(LATER);
      await settled();
      return [];
    },
    quietMs: 2 * RETRY_MS,
  },
  "while two targets are asked": {
    times: Math.min(TIMES, MOST_HEDGES),
    async reach({ upstream, post }) {
      await post({ lane: "hedged", stream: true });
      return [await upstream.next(), await upstream.next()];
    },
  },
  "while it sends an upload": {
    async reach({ client, settled }) {
      const head = postHead("/oss/v1/audio/transcriptions", 100_000);
      await client.send(`${head.replace("application/json", "multipart/form-data; boundary=x")}--x\r\n`);
      await settled();
      return [];
    },
    quietMs: 100,
  },
  "amid speech": {
    async reach({ client, upstream }) {
      await client.post("/oss/v1/audio/speech", { model: "m", voice: "v", input: "Hello" });
      const asked = await upstream.next();
      await asked.write(SPEECH_HEAD + chunk(FIRST_SOUND));
      await client.readUntil(FIRST_SOUND);
      return [asked];
    },
  },
};

const hedged = (model: string) => ({ upstream: "up", model });
const configOf = (baseUrl: string) => ({
  store: { kind: "memory" },
  upstreams: {
    up: { driver: "chat", baseUrl },
    narrow: { driver: "chat", baseUrl, concurrency: { running: 1, waiting: 5 } },
  },
  lanes: {
    oss: { upstreams: { chat: "up", speech: "up", transcription: "up" } },
    narrow: { upstreams: { chat: "narrow" } },
    hedged: { models: { m: { task: "chat", targets: [hedged("one"), hedged("two")], hedgeAfterMs: 1 } } },
  },
  retry: { budgetMs: 10 * RETRY_MS },
});

/** The lines of clients that left. */
class Departures {
  #seen = 0;
  #count = 0;
  #more = Promise.withResolvers<void>();

  readonly onLog = (line: string) => {
    if (JSON.parse(line).status !== 499) return;
    this.#count++;
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  };

  /** When the next one came, as `performance.now()` tells. */
  async next(): Promise<number> {
    while (this.#seen === this.#count) await this.#more.promise;
    this.#seen++;
    return performance.now();
  }
}

/** Lets a client leave. Returns after how many milliseconds the last call for it had ended. */
async function leave(
  { reach, after }: Phase,
  { path, ask, one }: (typeof ALL)[number],
  text: string,
  { url, upstream, departures }: { url: string; upstream: TcpUpstream; departures: Departures },
): Promise<number> {
  const clients: TcpClient[] = [];
  const connect = async () => {
    const client = await TcpClient.connect(Number(new URL(url).port));
    clients.push(client);
    return client;
  };
  const leaving = await connect();
  const scene: Scene = {
    client: leaving,
    upstream,
    connect,
    one,
    post: ({ lane = "oss", stream, client = leaving, text: other = text }) =>
      client.post(`/${lane}/${path}`, { model: "m", stream, ...ask(other) }),
    async settled() {
      for (let time = 0; time < 3; time++) await (await fetch(`${url}/healthz`)).body?.cancel();
      await delay(20);
    },
  };
  try {
    const asked = await reach(scene);
    const count = upstream.asked.length;
    const start = performance.now();
    leaving.close();
    const ends = await Promise.all(asked.map(({ left }) => left));
    const logged = await departures.next();
    assertEquals(upstream.asked.length, count);
    await after?.(scene);
    return Math.max(...(ends.length > 0 ? ends : [logged])) - start;
  } finally {
    for (const client of clients) client.close();
  }
}

Deno.test({
  name: `leaving: a client that leaves stops the upstream in every phase, ${TIMES} times each`,
  // Calls to the upstream of this process are left in the middle of a word.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(test) {
    const upstream = new TcpUpstream();
    const departures = new Departures();
    const config = await Deno.makeTempFile({ suffix: ".json" });
    await Deno.writeTextFile(config, JSON.stringify(configOf(upstream.baseUrl)));
    const gateway = await startGateway(config, [], departures.onLog);
    const world = { url: gateway.url, upstream, departures };
    try {
      for (const [name, phase] of Object.entries(PHASES)) {
        const { protocols = [PROTOCOLS.chat], texts = ["Hello"], times = TIMES, quietMs } = phase;
        await test.step(name, async () => {
          const took: number[] = [];
          for (const text of texts) {
            for (const protocol of protocols) {
              for (let time = 0; time < times; time++) {
                took.push(await within(leave(phase, protocol, text, world)));
              }
            }
          }
          const count = upstream.asked.length;
          if (quietMs) await delay(quietMs);
          assertEquals(upstream.asked.length, count);
          took.sort((a, b) => a - b);
          const [median, most] = [took[Math.floor(took.length / 2)]!, took.at(-1)!];
          report(`${name}: ${median.toFixed(1)} ms (median), ${most.toFixed(1)} ms at most, of ${took.length}`);
          if (IS_FULL) assertLess(median, LIMIT_MS);
        });
      }
    } finally {
      await gateway.kill();
      await upstream.stop();
      await Deno.remove(config);
    }
  },
});
