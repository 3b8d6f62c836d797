/**
 * Runs inside a network namespace without a route: an upstream on this machine, and a gateway before it, which is started by the
 * command line in the arguments, in the current folder. Prints the result as JSON.
 */
import { serving } from "../support/serving.ts";

export interface OfflineResult {
  /** Whether another machine can be reached, which the namespace prevents. */
  isOnline: boolean;
  /** The model's answer, or the gateway's error. */
  answer: string;
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
    signal: AbortSignal.timeout(60_000),
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
  let result: OfflineResult | undefined;
  try {
    await serving(program, { args }, async (url) => {
      result = { isOnline: await isOnline(), answer: await ask(url) };
    });
    return result!;
  } finally {
    await server.shutdown();
  }
}

if (import.meta.main) {
  const [program, ...args] = Deno.args;
  // deno-lint-ignore no-console -- this is a command line
  console.log(JSON.stringify(await serveOffline(program!, args)));
}
