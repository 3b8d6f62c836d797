/** The page of fidelity: the same as the tables of the documents, for the models that are configured. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";

const CONFIGURED: ConfigInput = {
  upstreams: {
    ...CONFIG.upstreams,
    same: { driver: "messages", baseUrl: "http://upstream.test/v1", secret: { env: "UPSTREAM_SECRET" } },
  },
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        same: { task: "chat", targets: [{ upstream: "same", model: "org/model" }] },
        plain: { task: "chat", inputModalities: ["text"], targets: [{ upstream: "fake", model: "org/plain" }] },
      },
    },
  },
};

const DOCUMENT = Deno.readTextFileSync(new URL("../../docs/fidelity.md", import.meta.url));

/** A column of a table of the document, by field. */
function columnOf(title: string, column: string): Record<string, string> {
  const [, table = ""] = DOCUMENT.split(`<summary>${title} (`);
  const rows = table.split("</details>")[0]!.split("\n").filter((line) => line.startsWith("|"))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
  const index = rows[0]!.indexOf(column);
  return Object.fromEntries(rows.slice(2).map((cells) => [cells[0]!.slice(1, -1), cells[index]!]));
}

type Rows = { field: string; is: string; words: string }[];

const inWords = (rows: Rows) => Object.fromEntries(rows.map(({ field, words }) => [field, words]));

async function ask(app: TestApp, model: string, client: string) {
  const response = await app.get(`/console/api/fidelity?lane=oss&model=${model}&client=${client}`);
  return { status: response.status, body: await response.json() };
}

Deno.test("console fidelity: what a model's upstream gets, and its client, is what the documents say of their wires", async () => {
  const app = newApp({ config: CONFIGURED });
  const { body } = await ask(app, "model", "messages");
  assertEquals([body.target, body.wire], ["fake/org/model", "chat"]);
  assertEquals(inWords(body.requests), columnOf("Messages: requests", "to chat"));
  assertEquals(inWords(body.answers), columnOf("Chat completions: answers of upstreams", "for messages"));
  assertEquals(app.logs, [], "No request was made");
});

Deno.test("console fidelity: on its own wire everything is carried, and a model that takes no pictures refuses them", async () => {
  const app = newApp({ config: CONFIGURED });
  const same = inWords((await ask(app, "same", "messages")).body.requests);
  assertEquals([same.top_k, same["image: base64"]], ["carried", "carried"]);
  const plain = inWords((await ask(app, "plain", "messages")).body.requests);
  assertStringIncludes(plain["image: base64"]!, "refused: ");
  assertEquals(plain["image.cache_control"], "refused, without it too");
  assertEquals(plain.temperature, "carried");
});

Deno.test("console fidelity: whoever may not use a lane gets no table of it, also where another operator has asked", async () => {
  const keys = [
    { name: "all", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "none", secret: { env: "GUEST_KEY" }, operator: true, lanes: ["other"] },
  ];
  const app = newApp({ config: { ...CONFIGURED, lanes: { ...CONFIGURED.lanes, other: { models: {} } }, keys } });
  const path = "/console/api/fidelity?lane=oss&model=model&client=chat";
  const statuses = [ENV.GUEST_KEY!, ENV.TEAM_KEY!, ENV.GUEST_KEY!].map(async (key) => {
    const response = await app.get(path, { "x-api-key": key });
    await response.body?.cancel();
    return response.status;
  });
  assertEquals(await Promise.all(statuses), [403, 200, 403]);
});

Deno.test("console fidelity: what has no table says so", async () => {
  const app = newApp({ config: CONFIGURED });
  const { status, body } = await ask(app, "sandbox", "chat");
  assertEquals(status, 501);
  assertStringIncludes(body.error.message, "has its own wire");
  assertEquals((await ask(app, "nothing", "chat")).status, 404);
  assertEquals((await ask(app, "model", "smoke")).status, 400);
});
