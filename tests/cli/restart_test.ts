/** The guide's writes take effect, if need be by another gateway that takes over while requests run. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { runLaunched } from "../support/process.ts";
import { until, within } from "../support/wait.ts";
import { connectedAgain, withGuided } from "./launched_program.ts";
import { ask, chatBody, configOf, freePort, ignore, startUpstream } from "./workers_rig.ts";

const askAgain = (url: string, init: RequestInit = chatBody()) => connectedAgain(() => ask(url, init));

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
        await said("finishing running requests", from);
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

const SANDBOX = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { upstreams: { chat: "sandbox" } } },
  store: { path: "./stored/store.sqlite3" },
};

/** Needs a permission that the gateway does not have. */
const withHost = (config: object, number: number) => ({
  ...config,
  upstreams: { ...SANDBOX.upstreams, far: { driver: "chat", baseUrl: `http://far-${number}.test/v1` } },
});

Deno.test({
  name:
    "restart: signals, the store, metrics and further restarts work after it, and a change without a host needs none",
  ignore,
  async fn() {
    const port = freePort();
    const config = { ...SANDBOX, observe: { metrics: { listen: `127.0.0.1:${port}` } } };
    await withGuided(config, async ({ url, post, open, said, position, kill, ended }, folder) => {
      const headers = await open();
      const write = async (config: object) =>
        (await post("write", { answers: { text: JSON.stringify(config) }, version: "1" }, headers)).body.outcome;
      const respond = async (body: object) => {
        const response = await askAgain(`${url}/oss/v1/responses`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "sandbox", input: "Hello", ...body }),
        });
        return { status: response.status, id: (await response.json()).id };
      };
      const { id } = await respond({});
      assertEquals(await write({ ...config, retry: { rounds: 3 } }), "applied");
      for (const number of [1, 2]) {
        const from = position();
        assertEquals(await write(withHost(config, number)), "restarted");
        await said("finishing running requests", from);
        await said(`Metrics: http://127.0.0.1:${port}/metrics`, from);
        assertEquals((await askAgain(`http://127.0.0.1:${port}/metrics`, {})).status, 200);
        assertEquals((await respond({ previous_response_id: id })).status, 200, "The store is the same");
      }
      const from = position();
      await Deno.writeTextFile(
        `${folder}/gateway.json`,
        JSON.stringify({ ...withHost(config, 2), retry: { rounds: 4 } }),
      );
      kill("SIGHUP");
      await said("Serving with the new configuration", from);
      kill("SIGINT");
      assertEquals(await within(ended), 0);
    });
  },
});

Deno.test({
  name:
    "restart: one that fails says why, and the gateway goes on; from no file to a file, it is always another gateway",
  ignore,
  async fn() {
    await withGuided(undefined, async ({ url, post, open, facts, kill, ended }, folder) => {
      const headers = await open();
      const write = async (config: object) =>
        (await post("write", { answers: { text: JSON.stringify(config) }, version: "1" }, headers)).body;
      const broken = await write({ ...SANDBOX, lanes: { oss: { upstreams: { chat: "nobody" } } } });
      assertEquals([broken.outcome, broken.command], ["by-hand", "deno task -q laneway"]);
      assertStringIncludes(broken.reason, "lanes.oss.upstreams.chat");
      assertEquals((await ask(`${url}/readyz`)).status, 200);
      // A port that another program has.
      using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const metrics = { listen: `127.0.0.1:${taken.addr.port}` };
      const busy = await write({ ...SANDBOX, observe: { metrics } });
      assertStringIncludes(busy.reason, "the port is in use");
      assertEquals((await facts(headers)).isFresh, true, "The first gateway goes on");
      assertEquals((await write(SANDBOX)).outcome, "restarted");
      await until(async () => !(await facts(headers)).isFresh);
      assertEquals((await facts(headers)).isOpen, true, "The page is still open");
      // Keys that are there from now on take the place of codes.
      await Deno.writeTextFile(`${folder}/gateway.json`, "{");
      assert((await facts(headers)).canAct);
      kill("SIGTERM");
      assertEquals(await within(ended), 0);
    });
  },
});

Deno.test({
  name: "restart: a second gateway that is started by mistake still finds the port in use, also after a restart",
  ignore,
  async fn() {
    const second = async (url: string, cwd: string) => {
      const { code, stderr } = await runLaunched(["--port", new URL(url).port], { cwd });
      assertEquals(code, 1);
      assertStringIncludes(stderr, "the port is in use; choose another with --port");
    };
    await withGuided(SANDBOX, async ({ url, post, open }, folder) => {
      await second(url, folder);
      const answers = { text: JSON.stringify(withHost(SANDBOX, 1)) };
      assertEquals((await post("write", { answers, version: "1" }, await open())).body.outcome, "restarted");
      await second(url, folder);
    });
  },
});

Deno.test({
  name: "restart: two at once are one, and a signal in between ends all",
  ignore,
  async fn() {
    await withGuided(SANDBOX, async ({ post, open, kill, ended }) => {
      const headers = await open();
      const write = (number: number) =>
        post("write", { answers: { text: JSON.stringify(withHost(SANDBOX, number)) }, version: "1" }, headers);
      const outcomes = (await Promise.all([write(1), write(1)])).map(({ body }) => body.outcome).sort();
      assertEquals(outcomes, ["by-hand", "restarted"]);
      const third = write(2).catch(() => {});
      kill("SIGTERM");
      assertEquals(await within(ended), 0);
      await third;
    });
  },
});
