/** The fidelity table: every field that clients are known to send is in it, and none is lost in silence. */
import { assertEquals } from "@std/assert";
import { WIRES } from "./fidelity/sample.ts";
import { REQUESTS, rowsOf } from "./fidelity/table.ts";
import { verdictOn } from "./fidelity/verdict.ts";
import { NAMED } from "./fidelity/named.ts";

for (const client of WIRES) {
  Deno.test(`fidelity: every field that a client may send has its place in the table · ${client}`, () => {
    const fields = REQUESTS[client].map(({ field }) => field);
    const missing = Object.entries(NAMED[client]).flatMap(([section, names]) =>
      names.filter((name) => !fields.includes(name)).map((name) => `${section}: ${name}`)
    );
    assertEquals(missing, []);
    assertEquals(fields.filter((field, index) => fields.indexOf(field) !== index), [], "Twice in the table");
  });

  Deno.test(`fidelity: what does not reach an upstream is noted or refused · ${client}`, async () => {
    const lost = (await rowsOf(client)).flatMap(({ field, verdicts }) =>
      Object.entries(verdicts).flatMap(([upstream, verdict]) =>
        verdict.is === "silent" ? [`${field} × ${upstream}: ${verdict.lost}`] : []
      )
    );
    assertEquals(lost, []);
  });
}

Deno.test("fidelity: a field that is lost without a word is found, whole or in part", async () => {
  const without = { input: [{ role: "user", content: "Hello" }], store: false };
  const lost = { field: "a field", without, with: { ...without, client_metadata: { who: "keptSession" } } };
  assertEquals(await verdictOn(lost, "responses", "chat"), { is: "silent", lost: "all of it" });
  const partly = { ...lost, with: { ...lost.with, temperature: 0.5 } };
  assertEquals(await verdictOn(partly, "responses", "chat"), { is: "silent", lost: "keptSession" });
});
