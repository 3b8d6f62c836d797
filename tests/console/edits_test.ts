/** The forms for upstreams and models at the server: entries, changes, two pages at once, and changes that are taken back. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import type { Edit } from "../../src/context/console.ts";
import { law } from "../support/law.ts";
import { applied, newRig, type Rig } from "./configuration_rig.ts";

const SECRET = "hidden-from-all";

/** With comments, trailing commas, a byte order mark and the line ends of another system. */
const TEXT = `\ufeff// Ours
{
  "console": { "edit": true },
  "keys": [{ "name": "ops", "secret": { "env": "TEAM_KEY" }, "operator": true }],
  "upstreams": {
    // The first one
    "fake": { "driver": "chat", "baseUrl": "http://upstream.test/v1", "headers": { "x-key": "${SECRET}" }, },
  }, /* no more */
  "lanes": { "oss": { "models": { "fast": { "task": "chat", "targets": [{ "upstream": "fake", "model": "m" }], } } } },
  "store": { "kind": "memory" }
}
`.replaceAll("\n", "\r\n");

const entries = async ({ ask }: Rig) => await (await ask("/entries")).json();
const planned = async ({ ask }: Rig, body: object) => await (await ask("/plan", body)).json();
const read = ({ file }: Rig) => Deno.readTextFile(file);

async function written(rig: Rig, edits: Edit[], title = "A change") {
  const { text, version, problems } = await planned(rig, { edits });
  assertEquals(problems, undefined);
  return await applied(rig, { text, version, title });
}

Deno.test("forms: the entries have no secret, and those of the built-in configuration are told apart", async () => {
  await using rig = await newRig({ text: TEXT.replace("{", '{ "extends": "default",') });
  const { own, builtIn, whole, drivers, tasks, providers } = await entries(rig);
  assertEquals(Object.keys(own.upstreams), ["fake"]);
  assert("sandbox" in builtIn.upstreams && "sandbox" in whole.upstreams && "fake" in whole.upstreams);
  assertEquals(own.upstreams.fake.headers, { "x-key": "***1***" });
  assert(
    drivers.some(({ name }: { name: string }) => name === "chat") && tasks.includes("chat") && providers.length > 9,
  );
  assert(!JSON.stringify([own, whole]).includes(SECRET));
});

Deno.test("forms: a change is checked, shown without secrets, used at once, and taken back to the first bytes", async () => {
  await using rig = await newRig({ text: TEXT });
  const edits: Edit[] = [
    { at: ["upstreams", "fake", "concurrency"], value: { running: 3 } },
    { at: ["lanes", "oss", "models", "fast", "contextLength"], value: 32_000 },
  ];
  const plan = await planned(rig, { edits });
  assert(!JSON.stringify(plan).includes(SECRET));
  assertEquals([plan.problems, plan.restart, plan.isHidden], [undefined, undefined, true]);
  assertEquals(await read(rig), TEXT);
  assertEquals((await written(rig, edits, "Upstream “fake” was changed")).outcome, "applied");
  const after = await read(rig);
  assertEquals(rig.running().upstreams.fake!.concurrency?.running, 3);
  for (const kept of ["// Ours", "// The first one", "/* no more */", SECRET]) assertStringIncludes(after, kept);
  const { last, version } = await entries(rig);
  assertEquals([last.title, last.by], ["Upstream “fake” was changed", "ops"]);
  const back = await planned(rig, { undo: version });
  assert(!JSON.stringify(back).includes(SECRET));
  assertEquals((await applied(rig, { text: back.text, version: back.version, title: "Back" })).outcome, "applied");
  assertEquals(await Deno.readFile(rig.file), new TextEncoder().encode(TEXT));
});

Deno.test("forms: problems have the place of their field, and nothing is written", async () => {
  await using rig = await newRig({ text: TEXT });
  const placesOf = async (...edits: Edit[]) =>
    (await planned(rig, { edits })).problems.map(({ path }: { path: string }) => path);
  assertEquals(await placesOf({ at: ["upstreams", "fake"] }), ["lanes.oss.models.fast.targets[0].upstream"]);
  assertEquals(await placesOf({ at: ["upstreams", "fake", "baseUrl"], value: "there" }), ["upstreams.fake.baseUrl"]);
  assertEquals(await placesOf({ at: ["lanes", "oss", "models", "a.b"], value: { task: "chat", targets: [] } }), [
    "lanes.oss.models.a.b.targets",
  ]);
  assertEquals(await read(rig), TEXT);
});

Deno.test("forms: of two pages the second learns that the file has changed, and nothing is lost", async () => {
  await using rig = await newRig({ text: TEXT });
  const limit = (running: number): Edit[] => [{ at: ["upstreams", "fake", "concurrency"], value: { running } }];
  const model: Edit[] = [{ at: ["lanes", "oss", "models", "fast", "contextLength"], value: 9_000 }];
  const [one, other] = [await planned(rig, { edits: limit(2) }), await planned(rig, { edits: model })];
  assertEquals((await applied(rig, { text: one.text, version: one.version })).outcome, "applied");
  assertEquals((await applied(rig, { text: other.text, version: other.version })).outcome, "conflict");
  assertEquals((await written(rig, model)).outcome, "applied");
  const { upstreams, lanes } = rig.running();
  assertEquals([upstreams.fake!.concurrency?.running, lanes.oss!.models.fast!.contextLength], [2, 9_000]);
});

Deno.test("forms: a change is not taken back over a later one", async () => {
  await using rig = await newRig({ text: TEXT });
  await written(rig, [{ at: ["upstreams", "fake", "concurrency"], value: { running: 2 } }]);
  const { version } = await entries(rig);
  const later = (await read(rig)).replace("// Ours", "// Theirs");
  await Deno.writeTextFile(rig.file, later);
  assertStringIncludes(
    (await planned(rig, { undo: version })).problems[0].message,
    "Somebody has changed the file since",
  );
  // Nobody is said to have made a change that is no longer the last one.
  assertEquals([(await entries(rig)).last, await read(rig)], [undefined, later]);
});

Deno.test("forms: a change that needs a restart says so, and waits for it", async () => {
  await using rig = await newRig({ text: TEXT, isGranted: (one) => one.name !== "net" || one.host !== "new.test:443" });
  const edits: Edit[] = [{ at: ["upstreams", "new"], value: { driver: "chat", baseUrl: "https://new.test/v1" } }];
  const { restart, text, version } = await planned(rig, { edits });
  assertStringIncludes(restart, "new.test");
  assertEquals((await applied(rig, { text, version, atRestart: true })).outcome, "saved");
  assertEquals([rig.running().upstreams.new, (await entries(rig)).own.upstreams.new.driver], [undefined, "chat"]);
  assertStringIncludes((await entries(rig)).waits, "new.test");
});

Deno.test("forms: without permission to write, the change is shown all the same", async () => {
  await using rig = await newRig({ text: TEXT.replace('{ "edit": true }', "{}") });
  const { text, why } = await planned(rig, { edits: [{ at: ["retry"], value: { rounds: 1 } }] });
  assertStringIncludes(why, '"edit": true');
  assertStringIncludes(text, '"rounds": 1');
});

Deno.test("forms: an upstream that cannot be reached says why", async () => {
  await using rig = await newRig({ text: TEXT });
  const response = await rig.ask("/../upstreams/test", { upstream: "none" });
  const { ok, reason } = await response.json();
  assertEquals(ok, false);
  assertStringIncludes(reason, 'Cannot find upstream "none"');
});

const name = fc.constantFrom("fake", "second", "größe", "a b", "x.y");
const edit: fc.Arbitrary<Edit> = fc.oneof(
  name.map((one) => ({ at: ["upstreams", one], value: { driver: "sandbox" } })),
  name.map((one) => ({
    at: ["lanes", "oss", "models", one],
    value: { task: "chat", targets: [{ upstream: "fake", model: "m" }] },
  })),
  fc.nat(9).map((running) => ({ at: ["upstreams", "fake", "concurrency"], value: { running: running + 1 } })),
  fc.constant({ at: ["lanes", "oss", "models", "fast", "contextLength"], value: 4_096 }),
  fc.constant({ at: ["upstreams", "fake", "headers"] }),
);

law(
  "forms: whatever was changed is taken back to the first bytes",
  fc.array(edit, { minLength: 1, maxLength: 4 }),
  async (edits) => {
    await using rig = await newRig({ text: TEXT });
    const { text, version, problems } = await planned(rig, { edits });
    assertEquals(problems, undefined);
    assertEquals((await applied(rig, { text, version })).outcome, "applied");
    const back = await planned(rig, { undo: (await entries(rig)).version });
    if (await read(rig) !== TEXT) await applied(rig, { text: back.text, version: back.version });
    assertEquals(await read(rig), TEXT);
  },
);
