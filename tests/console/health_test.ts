/** The checks of the command `doctor` as the page of the gateway's health asks for them, and the gateway's figures. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { findingsNow } from "../../src/console/health_now.js";
import { PUBLIC_PRICES } from "../../src/lanes/prices.ts";
import manifest from "../../deno.json" with { type: "json" };
import { CONFIG, ENV, newApp, type TestApp } from "../support/app.ts";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";
import { chatServer, withServer } from "../programs/probed.ts";
import { type Script, setupRig } from "./setup_rig.ts";

const KEYED = {
  ...CONFIG,
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "anna", secret: { env: "GUEST_KEY" } },
  ],
};
const OPS = { "x-api-key": ENV.TEAM_KEY! };

async function examine(app: TestApp, body: object, headers: Record<string, string> = OPS) {
  const more = { origin: "http://gateway", "content-type": "application/json" };
  return await app.post("/console/api/health/examine", body, { ...more, ...headers });
}

// deno-lint-ignore no-explicit-any
const linesIn = (text: string): any[] => text.trim().split("\n").map((line) => JSON.parse(line));

const bad = (message: string) => ({ level: "error", check: "upstream", subject: 'upstream "fake"', message });

Deno.test("health: the figures of the gateway, and what it has met", async () => {
  const { app } = setupRig({}, { config: KEYED });
  const { startedAt, memoryBytes, ...figures } = await (await app.get("/console/api/health", OPS)).json();
  assert(Date.parse(startedAt) <= Date.now() && memoryBytes > 0);
  assertEquals(figures, {
    status: "ready",
    requestsRunning: 0,
    streamsOpen: 0,
    webSocketsOpen: 0,
    version: manifest.version,
    mostRequests: 2000,
    waiting: 0,
    store: "in memory",
    prices: PUBLIC_PRICES,
    upstreams: [{ name: "fake", resting: [] }, { name: "sandbox", resting: [] }],
    command: "deno task -q laneway",
  });
});

Deno.test("health: a catalog that does not answer is a note that says how old its list is", () => {
  const facts = {
    ...{
      status: "ready",
      version: "1",
      startedAt: "",
      requestsRunning: 0,
      mostRequests: 9,
      waiting: 0,
      memoryBytes: 1,
    },
    ...{ store: "in memory", upstreams: [] },
  };
  const catalogs = [{ name: "fresh", ageSeconds: 5 }, { name: "old", ageSeconds: 7_200, lastError: "unavailable" }, {
    name: "never",
    lastError: "upstream_timeout",
  }];
  assertEquals(findingsNow({ ...facts, catalogs }).map(({ level, message }) => [level, message]), [
    ["note", "It does not answer (unavailable), so its list is 2 h old"],
    ["note", "It does not answer (upstream_timeout), so there is no list of its models"],
  ]);
  assertEquals(findingsNow({ ...facts, catalogs: [] })[0]!.level, "ok");
});

Deno.test("health: each part is a line as soon as it is found, without the secrets of the gateway", async () => {
  const script: Script = {
    findings: { upstreams: [bad(`It refuses ${ENV.UPSTREAM_SECRET}`)], machine: [], clients: [] },
  };
  const { app } = setupRig(script, { config: KEYED });
  const text = await (await examine(app, { parts: ["upstreams", "machine"], model: "m" })).text();
  assertEquals(linesIn(text), [
    { part: "upstreams", findings: [bad("It refuses ***")], isOver: false },
    { part: "upstreams", findings: [], isOver: true },
    { part: "machine", findings: [], isOver: false },
    { part: "machine", findings: [], isOver: true },
  ]);
  const { parts, only } = script.examined![0]!;
  assertEquals([parts, only], [["upstreams", "machine"], { lane: undefined, model: "m" }]);
});

Deno.test("health: only operators have anything checked, and only parts that there are", async () => {
  const script: Script = {};
  const { app } = setupRig(script, { config: KEYED });
  const parts = ["upstreams"];
  const asked = [
    examine(app, { parts }, { "x-api-key": ENV.GUEST_KEY! }),
    examine(app, { parts }, {}),
    examine(app, { parts }, { ...OPS, origin: "http://elsewhere.test" }),
    examine(app, { parts: ["everything"] }),
    examine(app, { parts: [] }),
  ];
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assertEquals([statuses, script.examined], [[403, 401, 403, 400, 400], undefined]);
});

Deno.test("health: the settings of clients are read by the launcher, or by the command that the page names", async () => {
  const client = { level: "ok", check: "client", subject: "client Codex", message: "It calls http://127.0.0.1:8000" };
  const config = { level: "ok", check: "configuration", subject: "configuration", message: "It is valid" };
  const near = setupRig({ findings: { clients: [config, client] } });
  const local = await near.app.fetch(
    new Request("http://127.0.0.1/console/api/health/examine", {
      method: "POST",
      headers: { "content-type": "application/json", origin: "http://127.0.0.1" },
      body: JSON.stringify({ parts: ["clients"] }),
    }),
    { remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 1 } } as Deno.ServeHandlerInfo,
  );
  assertEquals(linesIn(await local.text()), [{ part: "clients", findings: [client], isOver: true }]);
  assertEquals(near.tasks, [{ do: "examine" }]);
  const far = setupRig({ why: "It was started by hand" }, { config: KEYED });
  const [{ findings: [finding], isOver }] = linesIn(await (await examine(far.app, { parts: ["clients"] })).text());
  assertEquals([finding.level, finding.message, isOver], ["skipped", "It was started by hand", true]);
  assertStringIncludes(finding.cure, "deno task -q laneway doctor --part clients");
  assertEquals(far.tasks, []);
});

Deno.test("health: the checks end when their reader has left", async () => {
  const script: Script = { waits: { part: "machine", until: new Promise(() => {}) } };
  const { app } = setupRig(script, { config: KEYED });
  const reader = (await examine(app, { parts: ["machine"] })).body!.getReader();
  await reader.read();
  const { signal } = script.examined![0]!;
  assertEquals(signal.aborted, false);
  await reader.cancel();
  assertEquals(signal.aborted, true);
});

Deno.test("health: a gateway inside another program says that it has no checks", async () => {
  const app = newApp({ config: KEYED });
  const { why } = await (await app.get("/console/api/health", OPS)).json();
  assertMatch(why, /program gave this gateway its configuration/);
  assertEquals((await examine(app, { parts: ["upstreams"] })).status, 501);
});

const bySubject = (one: { subject: string }, other: { subject: string }) => one.subject < other.subject ? -1 : 1;

/** A port on which nothing listens. */
function closedPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  return listener.addr.port;
}

const server = chatServer({ models: [{ id: "qwen3:8b" }], message: () => ({ content: "pong" }) });

Deno.test("health: a launched gateway finds by itself what the command finds, and tests a model", async () => {
  await withServer(server, async (url) => {
    await withFolder(async (folder) => {
      const config = {
        upstreams: {
          local: { driver: "chat", baseUrl: `${url}/v1` },
          wrong: { driver: "chat", baseUrl: url },
          lost: { driver: "chat", baseUrl: `http://127.0.0.1:${closedPort()}/v1`, secret: { env: "LOST_TOKEN" } },
        },
        lanes: {
          oss: {
            models: {
              small: { task: "chat", targets: [{ upstream: "local", model: "qwen3:8b" }] },
              gone: { task: "chat", targets: [{ upstream: "lost", model: "m" }] },
            },
          },
        },
        store: { path: `${folder}/store` },
        retry: { rounds: 1 },
      };
      await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
      const env = { LOST_TOKEN: "lost-token-1a2b3c" };
      await withLaunched([], { cwd: folder, env }, async (gateway) => {
        const answer = await fetch(`${gateway.url}/console/api/health/examine`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: new URL(gateway.url).origin },
          body: JSON.stringify({ parts: ["configuration", "machine", "upstreams", "models", "clients"] }),
        });
        const lines = linesIn(await answer.text());
        const all = lines.flatMap(({ part, findings = [] }) => part === "models" ? [] : findings);
        const models = lines.flatMap(({ part, findings = [] }) => part === "models" ? findings : []);
        assertEquals(lines.filter(({ failure }) => failure), []);
        const of = (subject: string) => all.find((one) => one.subject === subject);
        assertEquals(of("configuration").level, "ok");
        assertEquals(of("permissions").level, "ok");
        assertMatch(of(`port ${new URL(gateway.url).port}`).message, /^This gateway listens there/);
        assertStringIncludes(of("store").message, `${folder}/store`);
        assertEquals(of('upstream "local"').message, "It is reachable and lists 1 model");
        assertEquals(of('upstream "lost"').check, "connection-refused");
        assertEquals(of('upstream "wrong"').settings, { upstreams: { wrong: { baseUrl: `${url}/v1` } } });
        const [small] = models.filter(({ subject }) => subject === 'model "small" of lane "oss"');
        assertMatch(small.message, /^It answers/);
        assertEquals(models.find(({ subject }) => subject === 'upstream "lost"').level, "skipped");
        // Without keys the launcher first wants the one-time code, which this page has not given.
        assertMatch(of("clients").message, /one-time code/);
        const command = await runLaunched(["doctor", "--json", "--part", "upstreams"], { cwd: folder, env });
        const { findings } = JSON.parse(command.stdout);
        // deno-lint-ignore no-explicit-any
        const upstreams = (list: any[]) => list.filter(({ subject }) => subject.startsWith("upstream")).sort(bySubject);
        assertEquals(upstreams(all), upstreams(findings));
      });
    });
  });
});
