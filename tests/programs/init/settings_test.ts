/** Settings that the console turns on, and the models of an upstream that is there. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno } from "../../../src/platform/deno.ts";
import { checkSource } from "../../../src/programs/init/check_source.ts";
import { chatServer, withServer } from "../probed.ts";
import { withFolder } from "../../support/process.ts";
import { configFor, load } from "./facts.ts";

Deno.test("init plan: settings come into the file, beside what is there", () => {
  const text = `{
  "extends": "default",
  // Operators only.
  "console": { "edit": true }
}
`;
  const settings = { console: { record: {} }, usage: {} };
  const planned = configFor({ settings }, text);
  assertStringIncludes(planned, "// Operators only.");
  const { console, usage } = load(planned);
  assert(console !== false && console?.edit === true && console.record !== undefined && usage !== undefined);
  assertEquals(configFor({ settings }, planned), planned, "What is on stays as it is");
});

Deno.test("init plan: settings do not take back what a file says more exactly", () => {
  const text = '{ "extends": "default", "usage": { "retentionDays": 7 } }';
  assertEquals(configFor({ settings: { usage: {} } }, text), text);
});

Deno.test("init plan: without a file, settings make one that says where models come from", () => {
  const planned = configFor({ settings: { storedKeys: true } });
  assertEquals(load(planned).storedKeys, true);
  assertStringIncludes(planned, '"extends": "default"');
});

Deno.test("init check: an upstream of the configuration lists its models with its own secret", () =>
  withServer(
    (request) =>
      request.headers.get("authorization") === "Bearer the-upstream's-own"
        ? chatServer({ models: [{ id: "one" }, { id: "two" }] })(request)
        : Promise.resolve(new Response(null, { status: 401 })),
    (url) =>
      withFolder(async (folder) => {
        const path = `${folder}/gateway.json`;
        const secret = { env: "OWN_SECRET" };
        const upstreams = { own: { driver: "chat", baseUrl: `${url}/v1`, secret } };
        await Deno.writeTextFile(path, JSON.stringify({ extends: "default", upstreams }));
        const env = (name: string) => ({ OWN_SECRET: "the-upstream's-own" })[name];
        const place = { path, program: { platform: { ...deno, env }, plugins: {} } };
        const checked = await checkSource({ kind: "upstream", name: "own" }, place);
        assertEquals(checked.ok && checked.models, ["one", "two"]);
        const absent = await checkSource({ kind: "upstream", name: "other" }, place);
        assertEquals(absent, { ok: false, reason: 'Cannot find upstream "other"' });
        const built = await checkSource({ kind: "upstream", name: "sandbox" }, place);
        assertEquals(built.ok && built.models, ["sandbox"]);
      }),
  ));
