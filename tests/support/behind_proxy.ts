/** Two gateways as processes of their own, before an upstream of this one and behind a proxy of the machine's. */
import { GATEWAY_ENV, gatewayArgs } from "./gateway_process.ts";
import { ROOT } from "./deploy.ts";
import { pathOf } from "./programs.ts";
import { until, within } from "./wait.ts";

/** A call that the upstream got: a streamed answer, which the test writes. */
export interface Call {
  body: { model: string; messages: { content: string }[] };
  write(text: string): void;
  end(): void;
  /** Resolves when the gateway has gone away from it. */
  left: Promise<void>;
}

export interface Upstream {
  baseUrl: string;
  next(): Promise<Call>;
  stop(): Promise<void>;
}

/** Answers the model `quick` by itself. */
export function startUpstream(): Upstream {
  const calls: Call[] = [];
  const waiting: ((call: Call) => void)[] = [];
  const headers = { "content-type": "text/event-stream" };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body: Call["body"] = await request.json();
    const left = Promise.withResolvers<void>();
    const { readable, writable } = new TransformStream<string, string>();
    const writer = writable.getWriter();
    writer.closed.catch(() => left.resolve());
    request.signal.addEventListener("abort", () => left.resolve());
    const write = (text: string) => void writer.write(chunk(body.model, { delta: { content: text } })).catch(() => {});
    const end = () => {
      writer.write(`${chunk(body.model, { delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`).catch(() => {});
      writer.close().catch(() => {});
    };
    if (body.model === "quick") {
      write(`${body.messages.at(-1)!.content.length} characters`);
      end();
    } else {
      const call = { body, write, end, left: left.promise };
      const next = waiting.shift();
      if (next) next(call);
      else calls.push(call);
    }
    return new Response(readable.pipeThrough(new TextEncoderStream()), { headers });
  });
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1`,
    next: () => within(calls.length > 0 ? Promise.resolve(calls.shift()!) : new Promise((go) => waiting.push(go))),
    stop: () => server.shutdown(),
  };
}

function chunk(model: string, choice: object): string {
  return `data: ${
    JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model, choices: [{ index: 0, ...choice }] })
  }\n\n`;
}

/** The key that clients behind the proxy send to a member. It is an operator's. */
export const MEMBER_KEY = "key-of-a-member-1a2b3c";

export interface Member {
  port: number;
  child: Deno.ChildProcess;
  /** Resolves once all that it prints is read. */
  drained: Promise<void>;
}

/** Starts a gateway, which announces for three seconds that it stops. Resolves once it serves. */
export async function startMember(folder: string, baseUrl: string): Promise<Member> {
  const config = {
    keys: [{ name: "team", secret: { env: "MEMBER_KEY" }, operator: true }],
    upstreams: { fake: { driver: "chat", baseUrl } },
    lanes: { oss: { upstreams: { chat: "fake" } } },
    store: { kind: "memory" },
    stop: { noticeMs: 3_000 },
  };
  await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
  const child = new Deno.Command(Deno.execPath(), {
    args: gatewayArgs(["--config", `${folder}/gateway.json`, "--port", "0"]),
    cwd: ROOT,
    env: { ...GATEWAY_ENV, MEMBER_KEY },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const lines = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let message = "";
  while (!message.includes("Keys: ")) {
    const { done, value } = await within(lines.read());
    if (done) throw new Error(`The gateway did not start: ${message}`);
    message += value;
  }
  const drained = (async () => {
    while (!(await lines.read()).done);
  })();
  return { child, drained, port: Number(/http:\/\/[\d.]+:(\d+)/.exec(message)![1]) };
}

export async function accepts(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

/** Runs a proxy until `use` is over. What it prints is in the error if it ends by itself. */
export async function withProxy(
  program: string,
  args: readonly string[],
  port: number,
  env: Record<string, string>,
  use: (proxy: Deno.ChildProcess) => Promise<void>,
): Promise<void> {
  const child = new Deno.Command(pathOf(program)!, { args: [...args], env, stdout: "piped", stderr: "piped" }).spawn();
  const output = Promise.all([child.stdout.text(), child.stderr.text()]);
  let isOver = false;
  const over = child.status.then(() => isOver = true);
  try {
    await until(async () => isOver || await accepts(port));
    if (isOver) throw new Error(`${program} ended: ${(await output).join("\n")}`);
    await use(child);
  } finally {
    if (!isOver) child.kill("SIGTERM");
    const timer = setTimeout(() => isOver || child.kill("SIGKILL"), 3_000);
    await over;
    clearTimeout(timer);
    await output;
  }
}
