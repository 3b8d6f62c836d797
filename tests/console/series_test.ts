/** What the page of usage is given. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { chatBody, CONFIG, type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { lastingStore } from "./desk.ts";

const PRICED: ConfigInput = {
  ...CONFIG,
  usage: { retentionDays: 365 },
  budget: { dollars: 100, period: "day", unpriced: "allow" },
};

const priced = (config: ConfigInput = PRICED, store = lastingStore()) =>
  newApp({ config, store, fetch: () => Promise.resolve(answerWhole()) });

async function seriesOf(app: TestApp, query: string) {
  const response = await app.get(`/console/api/series?${query}`);
  assertEquals(response.status, 200, query);
  return await response.json();
}

Deno.test("series: the console has each request by any of its names, also after a restart", async () => {
  const store = lastingStore();
  const app = priced(PRICED, store);
  for (const client of ["claude-cli/2.3.1", "opencode/1.4.0", "opencode/1.5.0"]) {
    const response = await app.post("/oss/v1/chat/completions", chatBody(), { "user-agent": client });
    assertEquals(response.status, 200);
    await response.body?.cancel();
  }
  await (await app.post("/oss/v1/chat/completions", { ...chatBody(), model: "none" })).body?.cancel();
  const before = await seriesOf(app, "range=1h&by=client&compare=true");
  const counts = ({ groups }: { groups: { name: string; total: { requests: number; errors: number } }[] }) =>
    groups.map(({ name, total: { requests, errors } }) => [name, requests, errors]);
  assertEquals(counts(before), [["opencode", 2, 0], ["claude-cli", 1, 0], ["", 1, 1]]);
  assertEquals(before.total.requests, 4);
  assertEquals(before.before.total.requests, 0);
  assertEquals(before.times.length, before.values.requests.length);
  assert(before.total.durationMs.p95 !== null);
  await app.close();
  const after = await seriesOf(priced(PRICED, store), "range=1h&by=client&client=opencode");
  assertEquals(counts(after), [["opencode", 2, 0]]);
  assertEquals(after.names.client, ["claude-cli", "opencode"]);
});

Deno.test("series: a cost that is not known is left out, also beside refused requests, which cost nothing", async () => {
  const app = priced();
  for (const model of ["model", "none"]) {
    await (await app.post("/oss/v1/chat/completions", { ...chatBody(), model })).body?.cancel();
  }
  const { total } = await seriesOf(app, "range=1h");
  await app.close();
  assertEquals([total.requests, total.unpriced, total.dollars], [2, 1, undefined]);
});

Deno.test("series: they can be saved for a spreadsheet, in which no name becomes a formula", async () => {
  const app = priced();
  const body = { ...chatBody(), model: "=cmd,1" };
  await (await app.post("/oss/v1/chat/completions", body)).body?.cancel();
  const response = await app.get("/console/api/series?by=model&format=csv");
  assertStringIncludes(response.headers.get("content-disposition")!, "usage.csv");
  const [head, line] = (await response.text()).split("\r\n");
  assertStringIncludes(head!, "time,model,requests,errors,inputTokens");
  assertStringIncludes(line!, `"'=cmd,1",1,1,0`);
  const json = await app.get("/console/api/series?by=model&format=json");
  assertStringIncludes(json.headers.get("content-disposition")!, "usage.json");
  assertEquals((await json.json()).groups[0].name, "=cmd,1");
});

Deno.test("series: a range that makes no sense is refused in words", async () => {
  const app = priced();
  for (
    const query of [
      "range=1y",
      "range=__proto__",
      "from=x",
      "from=5&to=3",
      "from=-1",
      "from=99999999999999999",
      "to=5",
      "by=id",
      "by=constructor",
    ]
  ) {
    const response = await app.get(`/console/api/series?${query}`);
    assertEquals(response.status, 400, query);
    assertStringIncludes((await response.json()).error.message, "Cannot read");
  }
  for (const query of ["from=0", "from=0&to=1", "from=8640000000000000&to=8640000000000000", "from=2027-01-31"]) {
    const { status } = await app.get(`/console/api/series?${query}&compare=true`);
    assert([200, 400].includes(status), `${status} for ${query}`);
  }
});

Deno.test("series: a gateway without usage has none, and says how to get it", async () => {
  const response = await priced(CONFIG).get("/console/api/series");
  assertEquals(response.status, 404);
  assertStringIncludes((await response.json()).error.message, `"usage": {}`);
});
