/** Limits, logs, metrics, traces, the console and permissions, at every endpoint for files. */
import { assert, assertEquals } from "@std/assert";
import { randomId } from "../../src/util/digest.ts";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { FILE_ENDPOINTS, type FileEndpoint, madeFiles, MAKING } from "../support/file_endpoints.ts";
import { withTracedGateway } from "../support/traced_gateway.ts";
import { until } from "../support/wait.ts";

const BASE = "http://gateway";
const [OPS, ANNA] = [ENV.TEAM_KEY!, ENV.GUEST_KEY!];

function appWith(anna: Partial<NonNullable<ConfigInput["keys"]>[number]> = {}): TestApp {
  const keys = [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "anna", secret: { env: "GUEST_KEY" }, ...anna },
  ];
  const { model, ...others } = CONFIG.lanes.oss.models;
  const lanes = { oss: { models: { ...others, model: { ...model, price: { input: 1_000, output: 1_000 } } } } };
  return newApp({ config: { ...CONFIG, lanes, keys }, newId: randomId, fetch: () => Promise.resolve(answerWhole()) });
}

/** The message of an error in the form of each wire. */
const MESSAGE: Record<string, (body: { type?: string; error: { message: string; status?: string } }) => string> = {
  chat: ({ error }) => error.message,
  messages: ({ type, error }) => type === "error" ? error.message : "",
  gemini: ({ error }) => error.status === undefined ? "" : error.message,
};

async function refusalOf({ protocol }: FileEndpoint, response: Response): Promise<{ status: number; message: string }> {
  return { status: response.status, message: MESSAGE[protocol.wire]!(await response.json()) };
}

Deno.test("files: the endpoints of all three wires are in the table", () => {
  assertEquals(FILE_ENDPOINTS.length, 26);
});

for (const endpoint of FILE_ENDPOINTS) {
  const { protocol } = endpoint;

  Deno.test(`files: a request counts as one of the key's · ${protocol.name}`, async () => {
    const app = appWith({ quota: { requestsPerMinute: MAKING + 1 } });
    const ids = await madeFiles(app.fetch, BASE, ANNA);
    const served = await app.fetch(endpoint.request(ids, BASE, ANNA));
    await served.body?.cancel();
    assert(served.status !== 429, "One more is served");
    const left = served.headers.get("x-ratelimit-remaining-requests") ??
      served.headers.get("anthropic-ratelimit-requests-remaining");
    // The third wire's vendor has no such headers.
    assertEquals(left, protocol.wire === "gemini" ? null : "0");
    const chat = await app.post(CHAT, chatBody(), { authorization: `Bearer ${ANNA}` });
    await chat.body?.cancel();
    assertEquals(chat.status, 429);
    const refused = await app.fetch(endpoint.request(ids, BASE, ANNA));
    assert(Number(refused.headers.get("retry-after")) > 0);
    const message = 'Key "anna" is limited to 5 requests per minute';
    assertEquals(await refusalOf(endpoint, refused), { status: 429, message });
    assertEquals(app.logs.at(-1)!.error, "rate_limit");
  });

  Deno.test(`files: a budget without room for a chat refuses none, and what is left of it is reported · ${protocol.name}`, async () => {
    const app = appWith({ budget: { dollars: 0.000001, period: "day" } });
    const chat = await app.post(CHAT, chatBody(), { authorization: `Bearer ${ANNA}` });
    assertEquals((await chat.json()).error.code, "budget_exceeded");
    const ids = await madeFiles(app.fetch, BASE, ANNA);
    const served = await app.fetch(endpoint.request(ids, BASE, ANNA));
    await served.body?.cancel();
    // Uploads in the form of Messages cannot be downloaded.
    assertEquals(served.status, protocol.name === "messages-files-content" ? 400 : 200);
    const headers = protocol.wire === "gemini"
      ? []
      : [protocol.wire === "chat" ? "x-ratelimit-remaining-dollars" : "anthropic-ratelimit-dollars-remaining"];
    for (const header of headers) assertEquals(served.headers.get(header), "0.000001");
  });

  Deno.test(`files: a request is in the log, the metrics and the console · ${protocol.name}`, async () => {
    const app = appWith();
    try {
      const ids = await madeFiles(app.fetch, BASE, ANNA);
      const response = await app.fetch(endpoint.request(ids, BASE, ANNA));
      await response.body?.cancel();
      const { status } = response;
      const line = app.logs.at(-1)!;
      const shown = { key: "anna", lane: "oss", protocol: protocol.name, status };
      assertEquals({ key: line.key, lane: line.lane, protocol: line.protocol, status: line.status }, shown);
      const headers = { "x-api-key": OPS };
      const metrics = await (await app.get("/metrics", headers)).text();
      const counted = new RegExp(
        `^laneway_requests_total\\{.*protocol="${protocol.name}".*status="${status}".*\\} [1-9]`,
        "m",
      );
      assert(counted.test(metrics), metrics.match(/^laneway_requests_total.*$/gm)?.join("\n"));
      const login = await app.fetch(
        new Request(`${BASE}/console/login`, { method: "POST", body: OPS, headers: { origin: BASE } }),
      );
      const cookie = login.headers.get("set-cookie")!.split(";")[0]!;
      const { ended } = await (await app.get("/console/api/live", { cookie })).json();
      const one = ended.findLast(({ id }: { id: string }) => id === line.id);
      assertEquals({ key: one.key, lane: one.lane, protocol: one.protocol, status: one.status }, shown);
    } finally {
      await app.close();
    }
  });

  Deno.test(`files: a key without them is refused, and so is one without the lane · ${protocol.name}`, async () => {
    const none = { file: "none", begun: "none", filled: "none" };
    const denied = await appWith({ files: false }).fetch(endpoint.request(none, BASE, ANNA));
    const message = "This key is not allowed to use files";
    assertEquals(await refusalOf(endpoint, denied), { status: 403, message });
    const outside = await appWith({ lanes: ["other"] }).fetch(endpoint.request(none, BASE, ANNA));
    assert([403, 404].includes((await refusalOf(endpoint, outside)).status));
  });

  Deno.test(`files: an id of another key is as unknown as one that never was · ${protocol.name}`, async () => {
    const app = appWith();
    const theirs = await madeFiles(app.fetch, BASE, OPS);
    const never = { file: randomId(), begun: randomId(), filled: randomId() };
    const [other, unknown] = await Promise.all(
      [theirs, never].map(async (ids) => {
        const response = await app.fetch(endpoint.request(ids, BASE, ANNA));
        return { status: response.status, body: (await response.text()).replace(/req[-_]?[\w-]+|[0-9a-f]{32}/g, "") };
      }),
    );
    assertEquals(other, unknown);
    const own = await app.fetch(endpoint.request(theirs, BASE, OPS));
    await own.body?.cancel();
    // What the other key did has changed nothing. Uploads in the form of Messages cannot be downloaded by anybody.
    assertEquals(own.status, protocol.name === "messages-files-content" ? 400 : 200);
  });
}

Deno.test("files: each request has a span of its own", async () => {
  await withTracedGateway({}, async ({ url, collector }) => {
    const ids = await madeFiles(fetch, url, "any");
    for (const { protocol, request } of FILE_ENDPOINTS) {
      const response = await fetch(request(ids, url, "any"));
      await response.body?.cancel();
      const isThere = () =>
        collector.spans.some(({ kind, name, attributes }) =>
          kind === "server" && name === `${protocol.method} ${protocol.pattern.pathname}` &&
          attributes["laneway.protocol"] === protocol.name &&
          attributes["http.response.status_code"] === BigInt(response.status)
        );
      await until(() => Promise.resolve(isThere()));
    }
  });
});
