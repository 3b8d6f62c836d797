/** A gateway whose configuration is changed at the console, with the permissions that it is started with. */
import { assert, assertEquals } from "@std/assert";
import { withFolder } from "../state/temp_folder.ts";
import type { ConfigInput } from "../support/app.ts";
import { permissionsFor, withPermittedGateway } from "../support/permitted_gateway.ts";

const CONFIG: ConfigInput = {
  console: { edit: true },
  store: { kind: "memory" },
  listen: { port: 0 },
  retry: { rounds: 2 },
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { models: { it: { task: "chat", targets: [{ upstream: "sandbox", model: "it" }] } } } },
};

Deno.test("edited configuration: the process may write that one file, and serves by what was written", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/gateway.json`;
    const { write } = permissionsFor(CONFIG, file);
    assertEquals(write, [file, `${file}.laneway-new`, `${file}.laneway-former`]);
    assertEquals(permissionsFor({ ...CONFIG, console: {} }, file).write, []);
    await withPermittedGateway(CONFIG, file, async ({ url, says, printed }) => {
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
      await Deno.writeTextFile(file, JSON.stringify({ ...CONFIG, retry: { rounds: 3 } }));
      await says(/new configuration[^]*new configuration/);
      assert(!printed().includes("has not changed"), printed());
    });
  });
});
