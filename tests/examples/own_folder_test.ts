/** A folder of one's own beside this repository, set up as docs/adding_a_protocol.md says. */
import { assertEquals } from "@std/assert";
import { blocksOf, readDocument } from "../docs/documents.ts";
import { withFolder, withLaunched } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);
const GUIDE = "docs/adding_a_protocol.md";
const CONFIG = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { models: { sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
  store: { kind: "memory" },
};

Deno.test("own folder: a plugin needs the deno.json of the document, and no package of its own", async () => {
  const [manifest] = blocksOf({ path: GUIDE, text: readDocument(GUIDE) }).filter(({ code }) =>
    code.includes('"links"')
  );
  await withFolder(async (folder) => {
    await Deno.symlink(ROOT.pathname, `${folder}/laneway`);
    const own = `${folder}/own`;
    await Deno.mkdir(own);
    for (const name of ["ask.ts", "main.ts"]) {
      await Deno.copyFile(new URL(`examples/own_protocol/${name}`, ROOT), `${own}/${name}`);
    }
    await Deno.writeTextFile(`${own}/deno.json`, manifest!.code);
    await Deno.writeTextFile(`${own}/gateway.json`, JSON.stringify(CONFIG));
    const options = { root: new URL(`file://${folder}/laneway/`), cwd: own };
    await withLaunched(["--main", "main.ts"], options, async ({ url }) => {
      const body = JSON.stringify({ model: "sandbox", question: "Why?" });
      const response = await fetch(`${url}/oss/ask`, { method: "POST", body });
      assertEquals((await response.json()).ended, "stop");
    });
  });
});
