/** Several processes at one port. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { UsageError } from "../../src/programs/program.ts";
import { joinWorkers } from "../../src/cli/worker.ts";
import { supervise } from "../../src/cli/workers.ts";
import { ON_NODE, runLaunched, withFolder } from "../support/process.ts";
import { delay, until, within } from "../support/wait.ts";
import {
  ask,
  chatBody,
  configOf,
  freePort,
  ignore,
  KEYS,
  startUpstream,
  type Status,
  statusOf,
  withWorkers,
} from "./workers_rig.ts";

/** Opens streams until each process has one. Those that are returned are read to their end, or to where they break. */
async function openStreams(url: string): Promise<{ ends: Promise<string>[]; clients: Deno.HttpClient[] }> {
  const ends: Promise<string>[] = [];
  const clients: Deno.HttpClient[] = [];
  const haveAll = async () => {
    const { workers } = await statusOf(url);
    return workers.length === 2 && workers.every(({ streamsOpen = 0 }) => streamsOpen > 0);
  };
  for (let count = 0; !await haveAll(); count++) {
    assert(count < 200, "One process takes all connections");
    const client = Deno.createHttpClient({});
    clients.push(client);
    const response = await fetch(`${url}/oss/v1/chat/completions`, { ...chatBody({ stream: true }), client });
    ends.push(response.text().catch(() => "broken"));
  }
  return { ends, clients };
}

async function served(url: string): Promise<number> {
  const page = await (await ask(`${url}/metrics`)).text();
  const lines = page.split("\n").filter((line) => line.startsWith("laneway_requests_total"));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

Deno.test({
  name:
    "workers: both serve; one that is killed comes back and loses its own streams alone; what they counted is summed",
  ignore,
  async fn() {
    const upstream = startUpstream();
    const listen = `127.0.0.1:${freePort()}`;
    await withWorkers(async ({ url, said, kill, ended }) => {
      const chat = async () => (await ask(`${url}/oss/v1/chat/completions`, chatBody())).status;
      for (let count = 0; count < 20; count++) assertEquals(await chat(), 200);
      await until(async () => await served(url) === 20);
      assertEquals(await served(`http://${listen}`), 20);
      const { ends, clients } = await openStreams(url);
      await until(async () => (await statusOf(url)).streamsOpen === ends.length);
      const { workers } = await statusOf(url);
      assertEquals(workers.map(({ worker, status }) => [worker, status]), [[1, "ready"], [2, "ready"]]);
      const [first, second] = workers.map(({ streamsOpen }) => streamsOpen!);
      Deno.kill(workers[1]!.pid, "SIGKILL");
      await said("Worker 2 ended (SIGKILL): restarting it");
      await said("Worker 2: Serves again");
      // What the first process after it counts does not go down.
      assert(await served(url) >= 20, "The counts of a process that was killed are lost");
      const now = await statusOf(url);
      assertEquals(now.workers.map(({ status }) => status), ["ready", "ready"]);
      assert(now.workers[1]!.pid !== workers[1]!.pid);
      assertEquals(now.workers[0]!.pid, workers[0]!.pid);
      for (let count = 0; count < 20; count++) assertEquals(await chat(), 200);

      kill("SIGTERM");
      await said("SIGTERM: finishing");
      upstream.release();
      const texts = await Promise.all(ends);
      assertEquals(texts.filter((text) => text.endsWith("data: [DONE]\n\n")).length, first);
      assertEquals(texts.filter((text) => !text.includes("[DONE]")).length, second);
      assertEquals(await within(ended), 0);
      for (const client of clients) client.close();
    }, { ...configOf(upstream.url), observe: { metrics: { listen } } });
    await upstream.stop();
  },
});

Deno.test({
  name: "workers: all take up a changed configuration, and whoever is started again serves by what the others serve by",
  ignore,
  async fn() {
    const upstream = startUpstream();
    await withWorkers(async ({ url, said, position, kill, ended }, write) => {
      const lanes = async () => {
        const answers = Array.from({ length: 12 }, async () => (await (await ask(url)).json()).lanes[0]);
        return [...new Set(await Promise.all(answers))];
      };
      assertEquals(await lanes(), ["oss"]);
      await write(configOf(upstream.url, "new"));
      kill("SIGHUP");
      await said("Worker 2: Serving with the new configuration");
      await until(async () => (await lanes()).join() === "new");

      let at = position();
      await write("{");
      await said("Worker 2: Kept the running configuration", at);
      const { workers } = await statusOf(url);
      at = position();
      Deno.kill(workers[0]!.pid, "SIGKILL");
      await said("Worker 1: Serves again", at);
      assertEquals(await lanes(), ["new"]);

      // A process that hangs keeps what came to it; the other one answers, and says so.
      const { pid } = (await statusOf(url)).workers[1]!;
      Deno.kill(pid, "SIGSTOP");
      const hasOneStopped = async () => {
        using client = Deno.createHttpClient({});
        const answer = await fetch(`${url}/status`, { client, signal: AbortSignal.timeout(3_000) }).catch(() =>
          undefined
        );
        const status: Status | undefined = await answer?.json();
        return status?.workers[1]?.status === "not responding" && status.workers[0]!.status === "ready";
      };
      await until(hasOneStopped);
      Deno.kill(pid, "SIGCONT");
      kill("SIGINT");
      assertEquals(await within(ended), 0);
    }, configOf(upstream.url));
    await upstream.stop();
  },
});

Deno.test({
  name: "workers: they do not outlive their launcher, and leave nothing behind",
  ignore,
  async fn() {
    await withWorkers(async ({ kill, said, ended }) => {
      kill("SIGKILL");
      await said("Worker 2: SIGTERM: finishing");
      await within(ended); // Its stderr is the workers', too.
    }, configOf("http://127.0.0.1:9/v1"));
  },
});

Deno.test({
  name: "workers: what cannot be is refused once, with its reason",
  ignore,
  async fn() {
    await withFolder(async (cwd) => {
      const config = configOf("http://127.0.0.1:9/v1");
      const env = KEYS;
      const refused = async (changes: object, ...args: string[]) => {
        const file = `${crypto.randomUUID()}.json`;
        await Deno.writeTextFile(`${cwd}/${file}`, JSON.stringify({ ...config, ...changes }));
        const { code, stderr } = await runLaunched(["--workers", "3", "--config", file, ...args], { cwd, env });
        return `${code}: ${stderr.trim()}`;
      };
      using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const taken = String(other.addr.port);
      const [free, port, watched, count] = await Promise.all([
        refused({}, "--port", "0"),
        refused({}, "--port", taken),
        refused({}, "--watch"),
        refused({}, "--workers", "none"),
      ]);
      assertStringIncludes(free!, "listen.port: Several workers need a fixed port");
      assertEquals(port, `1: Cannot listen on 127.0.0.1 port ${taken}: the port is in use; choose another with --port`);
      // On Node, --watch is an option of the runtime alone.
      assertStringIncludes(watched!, ON_NODE ? "2: Cannot use --watch here" : "2: Cannot use --workers with --watch");
      assertStringIncludes(count!, '2: Cannot use workers "none": expected a number from 1 to 256');
    });
  },
});

Deno.test("workers: where there can be none, it is refused with the reason", async () => {
  const refused = (platform: object, reason: string) =>
    assertRejects(
      () =>
        joinWorkers(3, {
          platform: {
            env: () => undefined,
            isGranted: () => false,
            command: "deno task -q laneway",
            ...platform,
          },
        } as never),
      UsageError,
      `Cannot use workers "3": only ${reason}`,
    );
  for (const os of ["darwin", "windows"]) {
    await refused({ os }, "Linux distributes connections among processes on one port");
  }
  const launcher = "the launcher, deno task -q laneway, can start several processes";
  await refused({ os: "linux" }, launcher);
  for (const place of ["", "1", "/tmp/folder", "/tmp/folder/", "/tmp/folder/x"]) {
    await refused({ os: "linux", isGranted: () => true, env: () => place }, launcher);
  }
});

Deno.test({
  name: "workers: one that cannot start ends all, and one that ends again and again is started ever later",
  ignore,
  async fn() {
    await withFolder(async (folder) => {
      const messages: string[] = [];
      const run = (script: string, count: number) =>
        supervise(folder, {
          count,
          spawn: (place) => new Deno.Command("sh", { args: ["-c", script], env: { PLACE: place } }).spawn(),
          say: (text) => messages.push(text),
        });
      const waits = 'trap "exit 0" INT TERM; touch $PLACE.json; while :; do sleep 0.05; done';
      const { ended } = run(`case $PLACE in */2) exit 3;; esac; ${waits}`, 3);
      assertEquals(await within(ended), 3);
      assertEquals(messages, []);

      const again = run("echo >> $PLACE.starts; touch $PLACE.json; exit 5", 1);
      const starts = () => Deno.readTextFileSync(`${folder}/1.starts`).length;
      const endings = () => messages.filter((text) => text === "Worker 1 ended (code 5): restarting it").length;
      await until(() => endings() === 4);
      assertEquals(starts(), 4);
      await delay(200); // the next wait is 1.6 s
      assertEquals(starts(), 4);
      again.forward("SIGTERM");
      assertEquals(await within(again.ended), 0);
    });
  },
});

Deno.test({
  name: "workers: what keeps their store starts before them, is started again, and ends after them",
  ignore,
  async fn() {
    await withFolder(async (folder) => {
      const messages: string[] = [];
      const tasks: object[] = [];
      const kept: Deno.ChildProcess[] = [];
      const waits =
        'trap "echo worker >> $PLACE.ends; exit 0" INT TERM; touch $PLACE.json; while :; do sleep 0.05; done';
      const supervisor = supervise(folder, {
        count: 2,
        spawn: (place) => new Deno.Command("sh", { args: ["-c", waits], env: { PLACE: place } }).spawn(),
        spawnKeeper(task) {
          tasks.push(task);
          const script = `cat > /dev/null; cat ${folder}/*.ends > ${folder}/before`;
          const child = new Deno.Command("sh", { args: ["-c", script], stdin: "piped" }).spawn();
          kept.push(child);
          return child;
        },
        say: (text) => messages.push(text),
      });
      await until(() => messages.includes("Workers: 2 processes"));
      kept[0]!.kill("SIGKILL");
      await until(() => kept.length === 2);
      assertEquals(tasks, [0, 2].map((remembering) => ({ path: `${folder}/keeper`, remembering })));
      assertEquals(messages.slice(1), ["The process that keeps the store ended (SIGKILL): restarting it"]);
      supervisor.forward("SIGTERM");
      assertEquals(await within(supervisor.ended), 0);
      assertEquals(Deno.readTextFileSync(`${folder}/before`), "worker\nworker\n");
      for (const { stdin } of kept) await stdin.close().catch(() => {});
    });
  },
});
