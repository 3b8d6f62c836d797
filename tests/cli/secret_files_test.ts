/** A gateway whose own key is in a file that changes, as people start it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";

const CONFIG = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { models: { small: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
  keys: [{ name: "anna", secret: { file: "anna.secret" } }],
  store: { kind: "memory" },
};

Deno.test("secret files: a gateway's key changes with its file, and an empty file locks nobody in or out", async () => {
  await withFolder(async (cwd) => {
    const write = (text: string) => Deno.writeTextFile(`${cwd}/anna.secret`, text);
    await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(CONFIG));
    await write("the-first-secret\n");
    await withLaunched([], { cwd }, async ({ url, said, position }) => {
      const ask = async (key?: string) => {
        const headers = key === undefined ? undefined : { authorization: `Bearer ${key}` };
        const response = await fetch(`${url}/oss/v1/models`, { headers });
        await response.body?.cancel();
        return response.status;
      };
      const statuses = () => Promise.all([ask("the-first-secret"), ask("the-second-secret"), ask(), ask("")]);
      assertEquals(await statuses(), [200, 401, 401, 401]);
      const first = position();
      await write("the-second-secret\n");
      await said("Serving with the new secrets", first);
      assertEquals(await statuses(), [401, 200, 401, 401]);
      const second = position();
      await write("");
      await said("anna.secret holds no secret", second);
      assertEquals(await statuses(), [401, 200, 401, 401]);
    });
  });
});

Deno.test("secret files: without its key's secret, a gateway does not start; validate and doctor name the file", async () => {
  await withFolder(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(CONFIG));
    const [started, validated, examined] = await Promise.all([
      runLaunched([], { cwd }),
      runLaunched(["validate"], { cwd }),
      runLaunched(["doctor", "--quick"], { cwd }),
    ]);
    assertEquals([started.code, validated.code, examined.code], [1, 0, 1]);
    assertStringIncludes(started.stderr, 'keys[0].secret.file: File "anna.secret" holds no secret');
    assertStringIncludes(validated.stdout, "Not set here: a secret in anna.secret");
    assertStringIncludes(examined.stdout, "→ Write the secret to the file, and let the gateway's user read it");
    await Deno.writeTextFile(`${cwd}/anna.secret`, '"the-secret"\n');
    const { stdout } = await runLaunched(["doctor", "--quick"], { cwd });
    assertStringIncludes(stdout, "anna.secret: The file has quotation marks around its value");
  });
});
