/** Which target thousands of conversations go to, at gateways that ask nobody. */
import { assert, assertEquals } from "@std/assert";
import { drawsOf, orderByDraw, RANDOM_DRAWS } from "../../src/routing/rendezvous.ts";
import { PATH } from "../regressions/support.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

const MANY = 20_000;
const WEIGHTS = { a: 1, b: 2, c: 5, spare: 0, other: 0 };

const targetsOf = (weights: Record<string, number>) =>
  Object.entries(weights).map(([of, weight]) => ({ share: { of, weight } }));
const namesOf = (targets: readonly { share: { of: string } }[]) => targets.map(({ share }) => share.of);
const orderOf = (conversation: number, weights: Record<string, number>) =>
  namesOf(orderByDraw(targetsOf(weights), drawsOf(`talk ${conversation}`)));
const CONVERSATIONS = Array.from({ length: MANY }, (_, index) => index);

function assertShare(count: number, share: number, message: string): void {
  // Six standard deviations.
  const slack = 6 * Math.sqrt(MANY * share * (1 - share));
  assert(Math.abs(count - MANY * share) < slack, `${message}: ${count} of ${MANY}, expected ${share * MANY}`);
}

Deno.test("rendezvous: each target is first for its share of 20,000 conversations; one without a weight comes last, as it stands", () => {
  const first: Record<string, number> = {};
  for (const conversation of CONVERSATIONS) {
    const order = orderOf(conversation, WEIGHTS);
    assertEquals(order.slice(-2), ["spare", "other"]);
    first[order[0]!] = (first[order[0]!] ?? 0) + 1;
  }
  for (const name of ["a", "b", "c"] as const) assertShare(first[name]!, WEIGHTS[name] / 8, name);
});

Deno.test("rendezvous: a target that is added takes its share, and nothing else moves; one that goes leaves its own alone", () => {
  let moved = 0;
  for (const conversation of CONVERSATIONS) {
    const [before] = orderOf(conversation, WEIGHTS);
    const order = orderOf(conversation, { new: 2, ...WEIGHTS });
    if (order[0] === before) continue;
    moved++;
    assertEquals(order.slice(0, 2), ["new", before]);
  }
  assertShare(moved, 2 / 10, "moved");
});

Deno.test("rendezvous: a weight that grows moves conversations to its target alone", () => {
  let moved = 0;
  for (const conversation of CONVERSATIONS) {
    const [before] = orderOf(conversation, WEIGHTS);
    const [after] = orderOf(conversation, { ...WEIGHTS, a: 2 });
    if (after === before) continue;
    moved++;
    assertEquals(after, "a");
  }
  assertShare(moved, 2 / 9 - 1 / 8, "moved");
});

Deno.test("rendezvous: without weights all stand as they are; what belongs to no conversation is drawn anew each time", () => {
  const plain = [{}, { share: { of: "x", weight: 0 } }];
  assertEquals(orderByDraw(plain, drawsOf("talk")), plain);
  const firsts = new Set(CONVERSATIONS.map(() => namesOf(orderByDraw(targetsOf(WEIGHTS), RANDOM_DRAWS))[0]));
  assertEquals([...firsts].sort(), ["a", "b", "c"]);
});

// Whole gateways

const REPLICAS = 4;
const TALKS = 300;
const TURNS = 7;

/** Gateways that know nothing of each other; `fails` says whether an upstream refuses a request. */
function newReplicas(fails: (upstream: string) => boolean = () => false) {
  const upstream = fakeUpstream(({ url }: Asked) =>
    fails(url.hostname[0]!) ? Response.json({ error: { message: "Overloaded" } }, { status: 503 }) : answerWhole()
  );
  const weights = { a: 1, b: 2, c: 5 };
  const config: ConfigInput = {
    replicas: REPLICAS,
    upstreams: Object.fromEntries(
      Object.keys(weights).map((name) => [name, { driver: "chat", baseUrl: `http://${name}.test/v1` }]),
    ),
    lanes: {
      oss: {
        models: {
          model: {
            task: "chat",
            targets: Object.entries(weights).map(([upstream, weight]) => ({ upstream, model: "org/model", weight })),
          },
        },
      },
    },
  };
  return Array.from({ length: REPLICAS }, () => newApp({ config, fetch: upstream.fetch }));
}

async function targetOf(app: TestApp, talk: number, turn: number): Promise<string> {
  const turns = Array.from({ length: 2 * turn }, (_, index) => ({
    role: index % 2 === 0 ? "assistant" : "user",
    content: `Turn ${index}`,
  }));
  const messages = [{ role: "user", content: `Talk ${talk}` }, ...turns];
  const response = await app.post(PATH.chat, { model: "model", messages });
  await response.text();
  assertEquals(response.status, 200);
  return response.headers.get("x-laneway-target")!;
}

Deno.test("rendezvous: of 2,100 turns at four gateways, one after the other, none changes its target", async () => {
  const apps = newReplicas();
  const targets = new Set<string>();
  for (let talk = 0; talk < TALKS; talk++) {
    const asked = [];
    for (let turn = 0; turn < TURNS; turn++) asked.push(await targetOf(apps[(talk + turn) % REPLICAS]!, talk, turn));
    assertEquals(new Set(asked).size, 1, asked.join(", "));
    targets.add(asked[0]!);
  }
  assertEquals(targets.size, 3);
});

Deno.test("rendezvous: what fell back at one of several gateways goes back to the target that the others ask", async () => {
  const down = new Set<string>();
  const apps = newReplicas((upstream) => down.has(upstream));
  for (let talk = 0; talk < 20; talk++) {
    const own = await targetOf(apps[0]!, talk, 0);
    down.add(own[0]!);
    const second = await targetOf(apps[0]!, talk, 1);
    down.clear();
    assert(second !== own);
    const after = await Promise.all(apps.map((app) => targetOf(app, talk, 2)));
    assertEquals(new Set(after), new Set([own]));
  }
});
