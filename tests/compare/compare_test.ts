import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { addEndpoints, addFixtures, CaseList } from "./cases.ts";
import { askFor, SHORT } from "./clients.ts";
import { compare, type Difference } from "./compare.ts";
import { addFuzzed } from "./fuzz_cases.ts";
import { type Side, startSide } from "./gateways.ts";
import { ScriptedUpstream } from "./upstream.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");

async function differences(old: Side, now: Side, { cases }: CaseList): Promise<Difference[]> {
  const found: Difference[] = [];
  // A gateway that is hasty with a silent upstream may be so with another one on a busy machine.
  await compare(
    old,
    now,
    cases.filter(({ name }) => !name.includes("silent")),
    (differences) => found.push(...differences),
  );
  return found;
}

Deno.test("compare: a checkout does not differ from itself", async () => {
  const list = new CaseList(1);
  addEndpoints(list);
  addFixtures(list);
  const sample = new CaseList(1);
  sample.cases.push(...list.cases.filter((_, index) => index % 97 === 0));
  addFuzzed(sample, 60, 1);
  const [old, now] = [await startSide(ROOT, sample.pairs), await startSide(ROOT, sample.pairs)];
  try {
    assertEquals(await differences(old, now, sample), []);
  } finally {
    await Promise.all([old.close(), now.close()]);
  }
});

/** A gateway of a few lines, which passes everything on. `change` makes it another version. */
async function startToy(
  change: (response: Response, again: () => Promise<unknown>) => Response | Promise<Response>,
): Promise<Side> {
  const upstream = new ScriptedUpstream();
  await upstream.listen();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const slot = new URL(request.url).pathname.split(/[/-]/)[1];
    const body = await request.text();
    const call = () => fetch(`http://127.0.0.1:${upstream.port}/${slot}/chat/completions`, { method: "POST", body });
    const answer = await call();
    const text = await answer.text();
    return await change(new Response(text, { headers: { "x-ours": "1" } }), () => call().then((one) => one.text()));
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    upstream,
    async close() {
      await server.shutdown();
      await upstream.close();
    },
  };
}

const CHANGES: [string, Parameters<typeof startToy>[0], string | undefined][] = [
  ["nothing", (response) => response, undefined],
  ["one byte of a body", async (response) => {
    const text = await response.text();
    return new Response(text.replace(/"usage"/, '"usagE"'), response);
  }, "body"],
  ["a header less", async (response) => new Response(await response.text()), "header x-ours"],
  [
    "a header's value",
    async (response) => new Response(await response.text(), { headers: { "x-ours": "2" } }),
    "header x-ours",
  ],
  [
    "a status",
    async (response) => new Response(await response.text(), { status: 201, headers: response.headers }),
    "status",
  ],
  ["one more call", async (response, again) => {
    await again();
    return response;
  }, "calls"],
];

for (const [name, change, kind] of CHANGES) {
  Deno.test(`compare: finds ${name}`, async () => {
    const list = new CaseList(1);
    list.add("short", [askFor("chat", `${list.next.slot}-chat`, "org/model", SHORT, false)]);
    const [old, now] = [await startToy((response) => response), await startToy(change)];
    try {
      const found = await differences(old, now, list);
      assertEquals(found.length, kind === undefined ? 0 : 1);
      if (kind !== undefined) assertStringIncludes(found[0]!.kind, kind);
    } finally {
      await Promise.all([old.close(), now.close()]);
    }
  });
}
