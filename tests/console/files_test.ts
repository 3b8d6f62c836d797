/** The files of keys, as the console's page of keys is given them. */
import { assertEquals } from "@std/assert";
import { randomId } from "../../src/util/digest.ts";
import { CONFIG, type ConfigInput, ENV, newApp, NOW } from "../support/app.ts";
import { withFolder } from "../support/process.ts";

const KEYS: ConfigInput["keys"] = [
  { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
  { name: "anna", secret: { env: "GUEST_KEY" } },
];
const ANNA = { authorization: `Bearer ${ENV.GUEST_KEY}` };
const OPS = { "x-api-key": ENV.TEAM_KEY!, "content-type": "application/json" };

Deno.test("console: an operator sees what each key stores, and deletes a file of any; others see none", () =>
  withFolder(async (folder) => {
    const audit = `${folder}/audit.jsonl`;
    const files = { bytesPerKey: 50_000, totalBytes: 100_000 };
    const app = newApp({
      config: { ...CONFIG, keys: KEYS, files, observe: { audit: { file: audit } } },
      newId: randomId,
    });
    const read = async (query = "", headers: HeadersInit = OPS) =>
      await (await app.get(`/console/api/files${query}`, headers)).json();
    const none = { owners: [], more: 0, bytes: 0, bounds: { ...files, filesPerKey: 1_000 } };
    assertEquals(await read(), none);
    const form = new FormData();
    form.set("purpose", "vision");
    form.set("file", new File(["abc"], "a <b>.txt"));
    const made = await app.fetch(
      new Request("http://gateway/oss/v1/files", { method: "POST", headers: ANNA, body: form }),
    );
    const id = (await made.json()).id.replace("file-", "");
    assertEquals((await read()).owners, [{ owner: "key:anna", bytes: 4_003, files: 1 }]);
    const file = { id, name: "a <b>.txt", mediaType: "text/plain", purpose: "vision", bytes: 3 };
    assertEquals((await read("?owner=key:anna")).files, [{ ...file, created: new Date(NOW).toISOString() }]);
    for (const query of ["", "?owner=key:anna"]) assertEquals((await read(query, ANNA)).error.type, "permission_error");
    const remove = (headers: HeadersInit, body: object) => app.post("/console/api/files/delete", body, headers);
    const deletion = { owner: "key:anna", id };
    assertEquals((await remove({ ...ANNA, "content-type": "application/json" }, deletion)).status, 403);
    assertEquals((await remove(OPS, { ...deletion, id: "none" })).status, 404);
    assertEquals((await remove(OPS, deletion)).status, 200);
    assertEquals(await read(), none);
    assertEquals((await app.get(`/oss/v1/files/file-${id}`, ANNA)).status, 404);
    await app.close();
    const lines = (await Deno.readTextFile(audit)).trim().split("\n").map((line) => JSON.parse(line));
    const line = lines.find(({ event }) => event === "file deleted");
    assertEquals({ ...line, time: "" }, { time: "", event: "file deleted", ...deletion, by: "ops" });
  }));

Deno.test("console: without files the page says so", async () => {
  const app = newApp({ config: { ...CONFIG, keys: KEYS, files: false } });
  assertEquals(await (await app.get("/console/api/files", OPS)).json(), { isOff: true, owners: [] });
});
