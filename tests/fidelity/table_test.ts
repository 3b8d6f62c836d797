/** The fidelity table: every field that clients are known to send is in it, and none is lost in silence. */
import { assertEquals, assertMatch } from "@std/assert";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { emptiedIn } from "./empty.ts";
import { exchange, exchangeWith, UPSTREAMS } from "./exchange.ts";
import { NAMED } from "./named.ts";
import { CLIENTS, UPSTREAM_WIRES } from "../../plugins/programs/fidelity/sample.ts";
import { FIELD, strangersIn } from "./strangers.ts";
import { REQUESTS } from "../../plugins/programs/fidelity/mod.ts";
import { type Row, rowsOf, rowsOfAnswers } from "./table.ts";
import { type Verdict, verdictOn } from "../../plugins/programs/fidelity/verdict.ts";

function lostIn<Column extends string>(rows: readonly Row<Column>[]): string[] {
  return rows.flatMap(({ field, verdicts }) =>
    Object.entries<Verdict>(verdicts).flatMap(([column, verdict]) =>
      verdict.is === "silent" ? [`${field} × ${column}: ${verdict.lost}`] : []
    )
  );
}

for (const client of CLIENTS) {
  Deno.test(`fidelity: every field that a client may send has its place in the table · ${client}`, () => {
    const fields = REQUESTS[client].map(({ field }) => field);
    const missing = Object.entries(NAMED[client]).flatMap(([section, names]) =>
      names.filter((name) => !fields.includes(name)).map((name) => `${section}: ${name}`)
    );
    assertEquals(missing, []);
    assertEquals(fields.filter((field, index) => fields.indexOf(field) !== index), [], "Twice in the table");
  });

  Deno.test(`fidelity: what does not reach an upstream is noted or refused · ${client}`, async () => {
    assertEquals(lostIn(await rowsOf(client)), []);
  });
}

for (const from of UPSTREAM_WIRES) {
  Deno.test(`fidelity: what does not reach a client is noted · ${from}`, async () => {
    assertEquals(lostIn(await rowsOfAnswers(from)), []);
  });
}

/** Whose other fields, too, are not for upstreams. */
const UNHEARD = { client_metadata: true, stream_options: true };

for (const client of CLIENTS) {
  Deno.test(`fidelity: a field that nobody knows is passed on, noted or refused, wherever it stands · ${client}`, async () => {
    const lost: string[] = [];
    for (const { place, sample: { headers, before }, body } of strangersIn(REQUESTS[client])) {
      if (place in UNHEARD) continue;
      for (const to of UPSTREAMS) {
        const { status, asked, notes } = await exchange(client, to, body, { headers, before });
        const isKept = JSON.stringify(asked ?? "").includes(FIELD.stranger);
        if (status === 200 && !isKept && notes.length === 0) lost.push(`${place} × ${to}`);
      }
    }
    assertEquals(lost, []);
  });
}

/** An empty schema of a tool is completed for every client, because servers refuse it. */
const COMPLETED = ["tools[].input_schema", "tools[].function.parameters"];

for (const client of CLIENTS) {
  Deno.test(`fidelity: what is carried is carried with nothing in it, too, or noted, or refused · ${client}`, async () => {
    const lost: string[] = [];
    for (const sample of REQUESTS[client]) {
      for (const to of UPSTREAMS) {
        if ((await verdictOn(sample, client, exchangeWith(to))).is !== "carried") continue;
        for (const { place, body } of emptiedIn(sample)) {
          const { status } = await exchange(client, to, body, sample);
          if (status >= 400 && status < 500) continue;
          const { is } = await verdictOn({ ...sample, with: body }, client, exchangeWith(to));
          if (is === "mapped" && COMPLETED.includes(place)) continue;
          if (is !== "carried" && is !== "dropped") lost.push(`${sample.field}: ${place} × ${to}: ${is}`);
        }
      }
    }
    assertEquals(lost, []);
  });
}

Deno.test("fidelity: what a stream brings for another wire alone is noted in it, before its end", async () => {
  const chunk = (more: object) => `data: ${JSON.stringify({ model: "org/model", ...more })}\n\n`;
  const frames = [
    chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "Hi", mood: "calm" } }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
    "data: [DONE]\n\n",
  ];
  const fake = fakeUpstream(() => new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } }));
  const app = newApp({ fetch: fake.fetch });
  const body = { model: "model", max_tokens: 9, stream: true, messages: [{ role: "user", content: "Hello" }] };
  const text = await (await app.post("/oss/v1/messages", body)).text();
  assertMatch(text, /^: .*dropped message\.mood[^]*event: message_stop/m);
});

Deno.test("fidelity: a field that is lost without a word is found, whole or in part", async () => {
  const without = { input: [{ role: "user", content: "Hello" }], store: false };
  const lost = { field: "a field", without, with: { ...without, client_metadata: { who: "keptSession" } } };
  assertEquals(await verdictOn(lost, "responses", exchangeWith("chat")), { is: "silent", lost: "all of it" });
  const partly = { ...lost, with: { ...lost.with, temperature: 0.5 } };
  assertEquals(await verdictOn(partly, "responses", exchangeWith("chat")), { is: "silent", lost: "keptSession" });
});
