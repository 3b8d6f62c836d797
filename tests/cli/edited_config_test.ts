/** A gateway whose configuration is changed at the console, with the permissions that it is started with. */
import { assert, assertEquals } from "@std/assert";
import { codeFolder, flagsOf, permissionsOf } from "../../src/config/permissions.ts";
import { isThere } from "../../src/config/is_there.ts";
import { GATEWAY_ENV } from "../support/gateway_process.ts";
import { within } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("edited configuration: the process may write that one file, and serves by what was written", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/gateway.json`;
  const config = {
    console: { edit: true },
    store: { kind: "memory" },
    listen: { port: 0 },
    retry: { rounds: 2 },
    upstreams: { sandbox: { driver: "sandbox" } },
    lanes: { oss: { models: { it: { task: "chat", targets: [{ upstream: "sandbox", model: "it" }] } } } },
  };
  await Deno.writeTextFile(file, JSON.stringify(config));
  const place = { config, file, listen: {}, env: () => undefined, os: Deno.build.os, code: codeFolder(), isThere };
  const permissions = permissionsOf(place);
  assertEquals(permissions.write, [file, `${file}.laneway-new`, `${file}.laneway-former`]);
  assertEquals(permissionsOf({ ...place, config: { ...config, console: {} } }).write, []);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--frozen", ...flagsOf(permissions), "src/main.ts", "--config", file],
    cwd: ROOT,
    env: GATEWAY_ENV,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  try {
    const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    let message = "";
    const says = async (words: string | RegExp) => {
      while (message.search(words) < 0) {
        const { done, value } = await within(60_000, reader.read());
        if (done) throw new Error(`The gateway ended: ${message}`);
        message += value;
      }
    };
    await says(/http:\/\/[\d.:]+/);
    const [url] = /http:\/\/[\d.:]+/.exec(message)!;
    const { text, version, why } = await (await fetch(`${url}/console/api/configuration`)).json();
    assertEquals(why, undefined);
    const order = async (rounds: number, version: string) => {
      const response = await fetch(`${url}/console/api/configuration/apply`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: url },
        body: JSON.stringify({ text: text.replace('"rounds":2', `"rounds":${rounds}`), version }),
      });
      return (await response.json()).outcome;
    };
    assertEquals([await order(4, version), await order(5, version)], ["applied", "conflict"]);
    await says("Serving with the new configuration");
    assertEquals(JSON.parse(await Deno.readTextFile(file)).retry, { rounds: 4 });
    // What others write is noticed as before; the console's own change was none of theirs.
    await Deno.writeTextFile(file, JSON.stringify({ ...config, retry: { rounds: 3 } }));
    await says(/new configuration[^]*new configuration/);
    assert(!message.includes("has not changed"), message);
    child.kill("SIGTERM");
    while (!(await reader.read()).done);
  } finally {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await child.status;
    await Deno.remove(folder, { recursive: true });
  }
});
