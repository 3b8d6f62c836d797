/** A gateway with a plugin of the user's own, in a folder of their own: what the launcher gives it, and what knows the plugin. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);
const { version } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT)));

/** A driver that says what it was told, and does something besides. */
const driverThat = (does: string) => `
import { type Driver, GatewayError } from "@laneway/gateway/plugin";

export const echo: Driver = {
  name: "echo",
  wire: "echo",
  operations: {
    generate: {
      local({ messages }, { model }) {
        ${does}
        const content = [{ type: "text" as const, text: "echo of " + JSON.stringify(messages.at(-1)?.content) }];
        return { model, content, finish: { reason: "stop" }, usage: { inputTokens: 1, outputTokens: 1 } };
      },
    },
  },
  parseError: () => new GatewayError("internal", "The echo makes no call"),
};
`;

const FAULTS = `
Promise.reject(new RangeError("my words"));
setTimeout(() => { throw new TypeError("my words") });
Promise.reject("my words");
`;

const MAIN = `
import { builtIn } from "@laneway/gateway";
import { run } from "@laneway/gateway/run";
import { echo } from "./echo.ts";

for (const path of ["/etc/hostname", "secret"]) {
  try { console.error("READ " + Deno.readTextFileSync(path)); } catch { console.error("may not read " + path); }
}
await run({ plugins: { drivers: [...builtIn.drivers, echo] } });
`;

const target = { upstream: "echo", model: "any" };
const CONFIG = {
  upstreams: { echo: { driver: "echo" } },
  lanes: { oss: { models: { parrot: { task: "chat", targets: [target] } } } },
};

/** Calls `use` with a folder that has a driver, a program and a configuration, and the code of the gateway beside it. */
async function withOwnFolder(use: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const imports = {
      "@laneway/gateway": `jsr:@laneway/gateway@${version}`,
      "@laneway/gateway/": `jsr:/@laneway/gateway@${version}/`,
    };
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ links: [ROOT.pathname], imports }));
    await Deno.writeTextFile(`${folder}/echo.ts`, driverThat(""));
    await Deno.writeTextFile(`${folder}/main.ts`, MAIN);
    await Deno.writeTextFile(`${folder}/secret`, "x");
    await Deno.writeTextFile(
      `${folder}/gateway.json`,
      JSON.stringify({ ...CONFIG, store: { path: `${folder}/store` } }),
    );
    await use(folder);
  });
}

function ask(url: string, model: string): Promise<Response> {
  return fetch(`${url}/oss/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-laneway-explain": "true" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
  });
}

Deno.test({
  name: "own main: it has the permissions of its configuration, and serves by the plugin, also after a reload",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withOwnFolder(async (folder) => {
      await withLaunched(["--main", "main.ts"], { cwd: folder }, async ({ url, said, position }) => {
        const start = await said("Keys: ");
        assertStringIncludes(start, "may not read /etc/hostname");
        assertStringIncludes(start, "may not read secret");
        const response = await fetch(`${url}/oss/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "parrot", messages: [{ role: "user", content: "Hello" }] }),
        });
        const { choices } = await response.json();
        assertStringIncludes(choices[0].message.content, "Hello");
        const explained = await ask(url, "parrot");
        assertStringIncludes(await explained.text(), '"driver"');
        const before = position();
        const models = { ...CONFIG.lanes.oss.models, other: { task: "chat", targets: [target] } };
        const changed = { ...CONFIG, lanes: { oss: { models } }, store: { path: `${folder}/store` } };
        await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(changed));
        await said("Serving with the new configuration", before);
        const again = await ask(url, "other");
        assertEquals(again.status, 200, await again.text());
      });
    });
  },
});

Deno.test({
  name: "own main: a fault of the plugin that nothing catches ends neither the gateway nor what else runs",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withOwnFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/echo.ts`, driverThat(FAULTS));
      await withLaunched(["--main", "main.ts"], { cwd: folder }, async ({ url, said, position }) => {
        for (let time = 0; time < 3; time++) {
          const before = position();
          const response = await fetch(`${url}/oss/v1/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model: "parrot", messages: [{ role: "user", content: "Hello" }] }),
          });
          assertStringIncludes(await response.text(), "Hello");
          for (const what of ["RangeError at ", "TypeError at ", "no error but a value of type string"]) {
            const text = await said(`A fault that nothing caught: ${what}`, before);
            assertEquals(text.includes("my words"), false, text);
          }
        }
      });
    });
  },
});

Deno.test({
  name: "own main: every command knows the plugin, and a mistake in its name is pointed out",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withOwnFolder(async (folder) => {
      const run = (...args: string[]) => runLaunched(["--main", "main.ts", ...args], { cwd: folder });
      const made = await run("keys", "create", "anna");
      assertMatch(made.stdout, /^\S{20,}\n$/, made.stderr);
      const catalog = await run("catalog", "oss", "models.json");
      assertEquals(catalog.code, 0, catalog.stderr);
      assertStringIncludes(await Deno.readTextFile(`${folder}/models.json`), '"parrot"');
      const permissions = await run("permissions");
      assertStringIncludes(permissions.stdout, "--allow-net=127.0.0.1:8000");
      const mistaken = { ...CONFIG, upstreams: { echo: { driver: "ecko" } } };
      await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(mistaken));
      const failed = await run();
      assertEquals(failed.code, 1);
      assertStringIncludes(failed.stderr, 'Cannot find driver "ecko"; did you mean "echo"?');
    });
  },
});
