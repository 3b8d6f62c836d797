/**
 * Runs inside a network namespace without a route: an upstream on this machine, and a gateway before it, which is started by the
 * command line in the arguments, in the current folder. Prints the result as JSON.
 */
import { until } from "../support/wait.ts";

export interface OfflineResult {
  /** Whether another machine can be reached, which the namespace prevents. */
  isOnline: boolean;
  /** The model's answer. Absent if the gateway did not start. */
  answer?: string;
  /** What the gateway said as it started. */
  said: string;
}

async function isOnline(): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "192.0.2.1", port: 9 })).close();
    return true;
  } catch (error) {
    return !/unreachable/i.test((error as Error).message);
  }
}

function upstream() {
  const message = { role: "assistant", content: "from this machine" };
  const answer = {
    id: "1",
    object: "chat.completion",
    created: 1,
    choices: [{ index: 0, message, finish_reason: "stop" }],
  };
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ ...answer, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
  );
}

async function ask(url: string): Promise<string> {
  const response = await fetch(`${url}/oss/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "local", messages: [{ role: "user", content: "Hello" }] }),
  });
  const text = await response.text();
  return response.ok ? JSON.parse(text).choices[0].message.content : text;
}

async function serveOffline(program: string, args: string[]): Promise<OfflineResult> {
  const server = upstream();
  // The models of the built-in configuration cannot be reached, and are no obstacle.
  const config = {
    extends: "default",
    upstreams: { here: { driver: "chat", baseUrl: `http://127.0.0.1:${server.addr.port}/v1` } },
    lanes: { oss: { models: { local: { task: "chat", targets: [{ upstream: "here", model: "m" }] } } } },
  };
  await Deno.writeTextFile("gateway.json", JSON.stringify(config));
  const options = { stdin: "null", stdout: "null", stderr: "piped" } as const;
  const child = new Deno.Command(program, { args, ...options }).spawn();
  let said = "";
  let isOver = false;
  const reading = (async () => {
    for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) said += piece;
    isOver = true;
  })();
  try {
    await until(() => isOver || /serves http\S+/.test(said));
    const [, url] = /serves (http\S+)/.exec(said) ?? [];
    return { isOnline: await isOnline(), said, ...(url !== undefined && { answer: await ask(url) }) };
  } finally {
    if (!isOver) child.kill("SIGTERM");
    await child.status;
    await reading;
    await server.shutdown();
  }
}

if (import.meta.main) {
  const [program, ...args] = Deno.args;
  // deno-lint-ignore no-console -- this is a command line
  console.log(JSON.stringify(await serveOffline(program!, args)));
}
