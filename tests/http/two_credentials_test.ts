/** Of two credentials of a client, the gateway's key counts, and no upstream sees the other one. */
import { assert, assertEquals } from "@std/assert";
import { type ConfigInput, ENV, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { bodyFor, CONFIG, HEADERS, PATH, shortAnswer, WIRES } from "../regressions/support.ts";

const OTHER = "sk-of-another-service";
const { TEAM_KEY, GUEST_KEY } = ENV as { TEAM_KEY: string; GUEST_KEY: string };

/** `own`: an upstream for which callers bring their own token. */
const KEYED: ConfigInput = {
  ...CONFIG,
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }],
  upstreams: { ...CONFIG.upstreams, own: { driver: "chat", baseUrl: "http://upstream.test/v1", secret: "client" } },
  lanes: {
    oss: {
      models: { ...CONFIG.lanes.oss.models, own: { task: "chat", targets: [{ upstream: "own", model: "org/model" }] } },
    },
  },
};

async function asked(client: typeof WIRES[number], model: string, headers: Record<string, string>) {
  const wire = model === "own" ? "chat" : model as typeof WIRES[number];
  const fake = fakeUpstream(() => shortAnswer(wire));
  const app = newApp({ config: KEYED, env: ENV, fetch: fake.fetch });
  const response = await app.post(PATH[client], bodyFor(client, {}, model), { ...HEADERS[client], ...headers });
  await response.body?.cancel();
  const seen = fake.asked.map(({ url, headers, body }) => `${url} ${JSON.stringify([...headers])} ${body}`).join("\n");
  return { status: response.status, seen, token: fake.asked[0]?.headers.get("authorization") };
}

for (const client of WIRES) {
  for (const model of WIRES) {
    Deno.test(`two credentials: no upstream sees the one that is no key, nor the key · ${client} to ${model}`, async () => {
      const pairs = [[TEAM_KEY, OTHER], [OTHER, TEAM_KEY], [TEAM_KEY, GUEST_KEY]] as const;
      for (const [own, bearer] of pairs) {
        const { status, seen } = await asked(client, model, { "x-api-key": own, authorization: `Bearer ${bearer}` });
        assertEquals(status, 200);
        for (const secret of [own, bearer]) assert(!seen.includes(secret), seen);
      }
    });
  }

  Deno.test(`two credentials: an upstream of callers with their own token gets that, and no key · ${client}`, async () => {
    const beside = await asked(client, "own", { "x-api-key": TEAM_KEY, authorization: `Bearer ${OTHER}` });
    assertEquals([beside.status, beside.token], [200, `Bearer ${OTHER}`]);
    assert(!beside.seen.includes(TEAM_KEY), beside.seen);
    for (const [own, bearer] of [[OTHER, TEAM_KEY], [TEAM_KEY, GUEST_KEY], [GUEST_KEY, TEAM_KEY]] as const) {
      const { status, seen } = await asked(client, "own", { "x-api-key": own, authorization: `Bearer ${bearer}` });
      assertEquals([status, seen], [401, ""]);
    }
  });
}
