/** The audit log, as its file holds it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, ENV, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { changeOf, createAudit } from "../../src/observe/audit.ts";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";

async function linesOf(file: string): Promise<Record<string, unknown>[]> {
  const text = await Deno.readTextFile(file).catch(() => "");
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const { time, ...rest } = JSON.parse(line);
    assert(!Number.isNaN(Date.parse(time)));
    return rest;
  });
}

Deno.test("audit: a key's first use and refusals are lines, without the key", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/audit.jsonl`;
    const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
    const config = { ...CONFIG, keys, observe: { audit: { file } } };
    const app = newApp({ config, fetch: () => Promise.resolve(answerWhole()) });
    const ask = async (key: string) => (await app.post(CHAT, chatBody(), { authorization: `Bearer ${key}` })).text();
    for (let round = 0; round < 3; round++) await ask(ENV.TEAM_KEY!);
    for (let round = 0; round < 3; round++) await ask("hunter2-guessed");
    await (await app.get("/status", { "x-api-key": ENV.TEAM_KEY! })).text();
    await app.close();
    assertEquals(await linesOf(file), [
      { event: "key used first", key: "team" },
      { event: "key refused", code: "authentication", reason: "Invalid API key" },
      { event: "key refused", code: "permission", key: "team" },
    ]);
    assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
    const text = await Deno.readTextFile(file);
    assert(!text.includes("hunter2") && !text.includes(ENV.TEAM_KEY!));
  });
});

Deno.test("audit: a file that is renamed goes on as a new one; one that cannot be written is reported once and stops nobody", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/later/audit.jsonl`;
    const said: string[] = [];
    const audit = createAudit(file, { say: (text) => void said.push(text), now: () => 0 });
    for (let round = 0; round < 3; round++) {
      audit.write({ event: "key made", key: `lost ${round}` });
      await audit.flush(5_000);
    }
    assertEquals(said.length, 1);
    assertStringIncludes(said[0]!, "Cannot write the audit log");
    await Deno.mkdir(`${folder}/later`);
    audit.write({ event: "key made", key: "one" });
    await audit.flush(5_000);
    await Deno.rename(file, `${file}.1`);
    audit.write({ event: "key made", key: "two" });
    await audit.flush(5_000);
    assertEquals(await linesOf(`${file}.1`), [{ event: "key made", key: "one" }]);
    assertEquals(await linesOf(file), [{ event: "key made", key: "two" }]);
  });
});

Deno.test("audit: a change is its paths, never its values", () => {
  const before = { upstreams: { a: { headers: { "x-key": "hunter2" }, baseUrl: "http://a" } }, keys: [{ name: "x" }] };
  const after = { upstreams: { a: { headers: { "x-key": "hunter3" }, baseUrl: "http://a" }, b: {} }, keys: [] };
  assertEquals(changeOf(before, after), {
    event: "configuration changed",
    paths: ["upstreams.a.headers.x-key", "upstreams.b", "keys.0"],
  });
});

Deno.test("audit: commands and a running gateway write to one file, by the permissions that the launcher gives", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/audit.jsonl`;
    const config = {
      upstreams: { sandbox: { driver: "sandbox" } },
      lanes: { oss: { upstreams: { chat: "sandbox" } } },
      storedKeys: true,
      store: { path: `${folder}/store.sqlite3` },
      observe: { audit: { file } },
    };
    const write = (more: object = {}) =>
      Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ ...config, ...more }));
    await write();
    const options = { cwd: folder, env: { USER: "anna", SUDO_USER: "" } };
    assertEquals((await runLaunched(["keys", "create", "bob"], options)).code, 0);
    await withLaunched([], options, async ({ said, kill, ended }) => {
      await write({ limits: { tools: 9 } });
      await said("Serving with the new configuration");
      kill("SIGINT");
      assertEquals(await ended, 0);
    });
    assertEquals((await linesOf(file)).map(({ version: _, ...line }) => line), [
      { event: "key made", key: "bob", by: "anna" },
      { event: "started" },
      { event: "configuration changed", paths: ["limits.tools"] },
    ]);
  });
});
