/** Gateways on one Redis server behind HAProxy, as `deploy/proxies/haproxy.cfg` has it, before an upstream of this process. */
import { accepts } from "../../support/behind_proxy.ts";
import { readText } from "../../support/deploy.ts";
import { gatewayArgs } from "../../support/gateway_process.ts";
import { withFolder } from "../../support/process.ts";
import { pathOf } from "../../support/programs.ts";
import { freePort, type RedisServer, startRedis } from "../../support/redis_server.ts";
import { ROOT } from "../../support/deploy.ts";
import { until, within } from "../../support/wait.ts";
import { startModel } from "./model.ts";

export const KEYS = {
  app: "key-of-the-application",
  limited: "key-with-a-rate",
  few: "key-with-few",
  ops: "key-of-ops",
};
/** What the keys `limited` and `few` may do. */
export const [PER_MINUTE, AT_ONCE] = [60, 5];

export interface RigOptions {
  replicas: number;
  /** How often HAProxy asks each whether it is ready, and how long one that stops is announced, in milliseconds. */
  checkMs: number;
  noticeMs: number;
}

export interface Rig {
  url: string;
  /** Their names, as an answer names the one that it is from. */
  replicas: readonly string[];
  /** Stops one as at an update, and starts it again. Resolves to the exit code once it is asked again. */
  restart(name: string): Promise<number>;
  /** SIGKILL. Returns when that was, and when it was gone: until then its connections stay, and take requests. */
  kill(name: string): Promise<{ from: number; until: number }>;
  /** Starts one again that was killed. Resolves once it is asked again. */
  revive(name: string): Promise<void>;
  /** The most requests of the key `few` that the model worked on at once. */
  mostAtOnce(): number;
  /** How many requests were admitted by a gateway alone, because Redis did not answer in time. */
  alone(): number;
}

/** Which replica an answer is from. */
export const SERVED_BY = "x-served-by";

export async function withRig({ replicas, checkMs, noticeMs }: RigOptions, use: (rig: Rig) => Promise<void>) {
  const model = startModel();
  const redis = await startRedis();
  try {
    await withFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(configOf(model.baseUrl, replicas, noticeMs)));
      const ports = new Map(Array.from({ length: replicas }, (_, index) => [`gateway${index + 1}`, freePort()]));
      const members = new Members(folder, ports, redis, checkMs);
      try {
        await Promise.all([...ports.keys()].map((name) => members.start(name)));
        await withHaproxy(folder, [...ports], checkMs, (url) =>
          use({
            url,
            replicas: [...ports.keys()],
            restart: (name) => members.restart(name),
            kill: (name) => members.kill(name),
            revive: (name) => members.start(name),
            mostAtOnce: model.mostAtOnce,
            alone: () => members.alone,
          }));
      } finally {
        await members.end();
      }
    });
  } finally {
    await redis.stop();
    await model.stop();
  }
}

function configOf(baseUrl: string, replicas: number, noticeMs: number) {
  const key = (name: string, more = {}) => ({ name, secret: { env: `KEY_${name.toUpperCase()}` }, ...more });
  return {
    replicas,
    upstreams: { model: { driver: "chat", baseUrl } },
    lanes: { oss: { upstreams: { chat: "model" } } },
    store: { kind: "redis", url: { env: "REDIS_URL" } },
    usage: {},
    stop: { noticeMs, drainMs: 25_000 },
    keys: [
      key("app"),
      key("limited", { quota: { requestsPerMinute: PER_MINUTE } }),
      key("few", { quota: { concurrentRequests: AT_ONCE } }),
      key("ops", { operator: true }),
    ],
  };
}

class Members {
  readonly #folder: string;
  readonly #ports: ReadonlyMap<string, number>;
  readonly #redis: RedisServer;
  readonly #checkMs: number;
  readonly #children = new Map<string, Deno.ChildProcess>();
  alone = 0;

  constructor(folder: string, ports: ReadonlyMap<string, number>, redis: RedisServer, checkMs: number) {
    this.#folder = folder;
    this.#ports = ports;
    this.#redis = redis;
    this.#checkMs = checkMs;
  }

  async start(name: string): Promise<void> {
    const port = this.#ports.get(name)!;
    const secrets = Object.entries(KEYS).map(([key, secret]) => [`KEY_${key.toUpperCase()}`, secret]);
    // Without the lock, Deno (2.9.6) looks for the store's client in a folder that it does not make.
    const args = gatewayArgs(["--config", `${this.#folder}/gateway.json`, "--port", String(port)])
      .filter((arg) => arg !== "--no-lock");
    const env = { NO_COLOR: "1", LANEWAY_CONFIG: "", REDIS_URL: this.#redis.url, ...Object.fromEntries(secrets) };
    const child = new Deno.Command(Deno.execPath(), { args, cwd: ROOT, env, stdout: "piped", stderr: "piped" }).spawn();
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) {
      void this.#watch(stream, (text) => printed = (printed + text).slice(0, 4_000));
    }
    this.#children.set(name, child);
    let hasEnded = false;
    child.status.then(() => hasEnded = true);
    await until(async () => hasEnded || await isReady(port));
    if (hasEnded) throw new Error(`A gateway has not started: ${printed}`);
    // By then the balancer has asked it, too.
    await new Promise((resolve) => setTimeout(resolve, 2 * this.#checkMs));
  }

  async #watch(stream: ReadableStream<Uint8Array<ArrayBuffer>>, onText: (text: string) => void): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      onText(text);
      this.alone += text.split("counted by this gateway alone").length - 1;
    }
  }

  async restart(name: string): Promise<number> {
    const child = this.#children.get(name)!;
    child.kill("SIGTERM");
    const { code } = await within(child.status);
    await this.start(name);
    return code;
  }

  async kill(name: string): Promise<{ from: number; until: number }> {
    const child = this.#children.get(name)!;
    const from = performance.now();
    child.kill("SIGKILL");
    await child.status;
    return { from, until: performance.now() };
  }

  async end(): Promise<void> {
    await Promise.all([...this.#children.values()].map(async (child) => {
      try {
        child.kill("SIGKILL");
      } catch { /* it has ended */ }
      await child.status;
    }));
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** The example, with these servers in place of its own, without TLS. */
async function withHaproxy(
  folder: string,
  servers: readonly (readonly [name: string, port: number])[],
  checkMs: number,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const text = readText("deploy/proxies/haproxy.cfg")
    .replace(/bind :443 .*/, `bind 127.0.0.1:${port}\n  http-response set-header ${SERVED_BY} %s`)
    .replace("inter 2s", `inter ${checkMs}ms`)
    .replace(
      /( *server gateway\d .*\n)+/,
      servers.map(([name, port]) => `  server ${name} 127.0.0.1:${port}\n`).join(""),
    );
  await Deno.writeTextFile(`${folder}/haproxy.cfg`, text);
  const args = ["-db", "-f", `${folder}/haproxy.cfg`];
  const child = new Deno.Command(pathOf("haproxy")!, { args, stdout: "null", stderr: "null" }).spawn();
  try {
    await until(() => accepts(port));
    await use(`http://127.0.0.1:${port}`);
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
}
