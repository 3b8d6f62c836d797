/** The command `keys`, on a store in memory. Over processes, and with a gateway that runs: see `life_test.ts`. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { digestOf } from "../../src/util/digest.ts";
import { keysCommand, KeysError } from "../../src/cli/keys.ts";
import { createKeyring } from "../../src/state/keyring.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { NOW } from "../support/app.ts";

const ALL = { limit: 1_000 };
const CREATED = new Date(NOW).toISOString();

function newKeys() {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const keyring = createKeyring(store, () => NOW);
  return { keyring, keys: (...args: string[]) => keysCommand(args, keyring, ["oss", "lab"], "deno task start") };
}

Deno.test("keys: what a key may is kept as it was said", async () => {
  const { keyring, keys } = newKeys();
  const plain = await keys("create", "plain");
  const limits = ["--requests-per-minute", "10", "--tokens-per-minute", "2000", "--tokens-per-day", "30000"];
  const opened = ["--lane", "oss", "--lane", "lab", "--model", "org/*", "--expires", "2027-02-01"];
  const team = await keys("create", "team", ...opened, ...limits, "--concurrent-requests", "4");
  assertMatch(team, /^laneway_/);
  assertEquals(await keyring.list(ALL), [
    { name: "plain", digest: digestOf(plain), created: CREATED },
    {
      name: "team",
      digest: digestOf(team),
      created: CREATED,
      expires: "2027-02-01T00:00:00.000Z",
      lanes: ["oss", "lab"],
      models: ["org/*"],
      quota: { requestsPerMinute: 10, tokensPerMinute: 2_000, tokensPerDay: 30_000, concurrentRequests: 4 },
    },
  ]);
});

Deno.test("keys: the list tells what each may, and nothing that is secret", async () => {
  const { keyring, keys } = newKeys();
  assertEquals(await keys("list"), "No keys. Make one: deno task start keys create <name>");
  await keys("create", "a");
  await keys("create", "team", "--lane", "oss", "--model", "org/*", "--expires", "2027-02-01", "--tokens-per-day", "9");
  const list = await keys("list");
  assertEquals(list.split("\n"), [
    `a     since ${CREATED.slice(0, 10)}`,
    `team  since ${CREATED.slice(0, 10)}; until 2027-02-01T00:00:00.000Z; lanes oss; models org/*; tokensPerDay 9`,
  ]);
  for (const { digest } of await keyring.list(ALL)) assert(!list.includes(digest));
  assertEquals(await keys("revoke", "a"), 'Revoked key "a"');
  assertEquals((await keyring.list(ALL)).map(({ name }) => name), ["team"]);
});

Deno.test("keys: a long list comes in pages, each of which says where the next one begins", async () => {
  const { keys } = newKeys();
  for (const name of ["a", "b", "c", "d", "e"]) await keys("create", name);
  const namesIn = (page: string) => page.split("\n").map((line) => line.split("  ")[0]);
  const more = (after: string) => `There are more: deno task start keys list --limit 2 --after "${after}"`;
  assertEquals(namesIn(await keys("list", "--limit", "2")), ["a", "b", more("b")]);
  assertEquals(namesIn(await keys("list", "--limit", "2", "--after", "b")), ["c", "d", more("d")]);
  await keys("revoke", "e");
  assertEquals(namesIn(await keys("list", "--limit", "2", "--after", "b")), ["c", "d"]);
  assertEquals(namesIn(await keys("list")), ["a", "b", "c", "d"]);
});

for (
  const [args, complaint] of [
    [[], "No command"],
    [["make"], 'Unknown command "make"'],
    [["list", "all"], "takes no arguments"],
    [["list", "--limit", "0"], 'Cannot use "0" for --limit'],
    [["list", "--lane", "oss"], "Unknown option '--lane'"],
    [["create"], "Expected one name for the key"],
    [["create", " "], "Expected one name for the key"],
    [["create", "a", "b"], "Expected one name for the key"],
    [["create", "a", "--lane", "no"], 'Cannot find lane "no"'],
    [["create", "a", "--expires", "soon"], 'Cannot read the date "soon"'],
    [["create", "a", "--tokens-per-day", "0"], 'Cannot use "0" for --tokens-per-day'],
    [["create", "a", "--tokens-per-day", "1e3"], 'Cannot use "1e3" for --tokens-per-day'],
    [["create", "a", "--until", "2027"], "Unknown option '--until'"],
    [["revoke"], "Expected the name of one key"],
    [["revoke", "a"], 'Cannot find key "a"'],
  ] as const
) {
  Deno.test(`keys: "${args.join(" ")}" is a mistake, and makes nothing`, async () => {
    const { keyring, keys } = newKeys();
    await assertRejects(() => keys(...args), KeysError, complaint);
    assertEquals(await keyring.list(ALL), []);
  });
}
