/** The guide's writes take effect, if need be by another gateway that takes over while requests run. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { until, within } from "../support/wait.ts";
import { withGuided } from "./launched_program.ts";
import { ask, chatBody, configOf, ignore, startUpstream } from "./workers_rig.ts";

/**
 * Asks as clients' libraries do, which open a connection again, twice at most, if it ends before an answer. Connections that are
 * opened in the moment in which a process closes its port are reset by the server, and then by the system.
 */
async function askAgain(url: string, again = 2): Promise<Response> {
  try {
    return await ask(url, chatBody());
  } catch (error) {
    if (again === 0) throw error;
    return await askAgain(url, again - 1);
  }
}

/** Sends one request after the other, each over a connection of its own, until it is stopped. Resolves to what was not served. */
function load(url: string) {
  let isOver = false;
  let served = 0;
  const client = async () => {
    const failures: string[] = [];
    while (!isOver) {
      const { status } = await askAgain(url).catch((error) => ({ status: `${error}: ${error.cause}` }));
      if (status === 200) served++;
      else failures.push(String(status));
    }
    return failures;
  };
  const clients = Array.from({ length: 6 }, client);
  return {
    served: () => served,
    async stop() {
      isOver = true;
      return (await Promise.all(clients)).flat();
    },
  };
}

Deno.test({
  name: "restart: a new host needs another gateway, which takes over the port; streams finish and no request is lost",
  ignore,
  async fn() {
    const [first, second] = [startUpstream(), startUpstream()];
    try {
      await withGuided(configOf(first.url), async ({ url, post, open, said, position, kill, ended }) => {
        const headers = await open();
        const chat = `${url}/oss/v1/chat/completions`;
        const streams = await Promise.all(Array.from({ length: 5 }, async () => {
          const { body } = await fetch(chat, chatBody({ stream: true }));
          const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
          return { begun: (await reader.read()).value ?? "", reader };
        }));
        const running = load(chat);
        await until(() => running.served() > 20);
        const from = position();
        const text = JSON.stringify(configOf(second.url, "next"));
        const { body: plan } = await post("plan", { text }, headers);
        assertStringIncludes(plan.restart, "New permissions need a restart: host 127.0.0.1:");
        const written = await post("write", { answers: { text }, version: "1" }, headers);
        assertEquals(written, { status: 200, body: { ok: true, files: ["gateway.json"], outcome: "restarted" } });
        await said("Restarted: the process before finishes its running requests", from);
        // Until the former process has closed its port, the former lane may be served.
        await until(async () => (await askAgain(`${url}/next/v1/chat/completions`)).status === 200);
        // The lane of these requests is gone in the new gateway.
        const failures = (await running.stop()).filter((status) => status !== "404");
        assertEquals(failures, []);
        first.release();
        for (const { begun, reader } of streams) {
          let whole = begun;
          for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) whole += value;
          assertStringIncludes(whole, "[DONE]");
        }
        kill("SIGTERM");
        assertEquals(await within(ended), 0);
      });
    } finally {
      await Promise.all([first.stop(), second.stop()]);
    }
  },
});
