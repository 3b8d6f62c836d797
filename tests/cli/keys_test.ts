/** The command `keys`, on a store in memory. Over processes, and with a gateway that runs: see `life_test.ts`. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { digestOf } from "../../src/util/digest.ts";
import { keysCommand, KeysError, KeysStateError } from "../../src/cli/keys.ts";
import { type Budget, describe } from "../../src/state/budget/budget.ts";
import { periodAt } from "../../src/state/budget/period.ts";
import { picoDollars } from "../../src/util/dollars.ts";
import { createKeyring } from "../../src/state/keyring.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { NOW } from "../support/app.ts";

const ALL = { limit: 1_000 };
const CREATED = new Date(NOW).toISOString();

const CONFIGURED = { lanes: ["oss", "lab"], keys: ["fixed"] };

function newKeys() {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const keyring = createKeyring(store, () => NOW);
  return { keyring, keys: (...args: string[]) => keysCommand(args, keyring, CONFIGURED, "deno task -q laneway") };
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
  assertEquals(await keys("list"), "No keys. Create one: deno task -q laneway keys create <name>");
  await keys("create", "a");
  await keys("create", "team", "--lane", "oss", "--model", "org/*", "--expires", "2027-02-01", "--tokens-per-day", "9");
  const list = await keys("list");
  assertEquals(list.split("\n"), [
    `a     since ${CREATED.slice(0, 10)}`,
    `team  since ${CREATED.slice(0, 10)}; until 2027-02-01; lanes oss; models org/*; 9 tokens a day`,
  ]);
  for (const { digest } of await keyring.list(ALL)) assert(!list.includes(digest));
  assertEquals(await keys("revoke", "a"), 'Revoked key "a"');
  assertEquals((await keyring.list(ALL)).map(({ name }) => name), ["team"]);
});

Deno.test("keys: a name that is another caller's, or that would steer a terminal, is refused", async () => {
  const { keyring, keys } = newKeys();
  const refused: [name: string, because: string][] = [
    ["fixed", 'Key "fixed" already exists'],
    ["oidc:ann", "callers with tokens are called so"],
    ["x\u001b[2J", "control characters"],
    [" x", "blanks around it"],
    ["x".repeat(201), "200 characters"],
  ];
  for (const [name, because] of refused) await assertRejects(() => keys("create", name), KeysError, because);
  assertEquals(await keyring.list(ALL), []);
});

Deno.test("keys: a long list comes in pages, each of which says where the next one begins", async () => {
  const { keys } = newKeys();
  for (const name of ["a", "b", "c", "d", "e"]) await keys("create", name);
  const namesIn = (page: string) => page.split("\n").map((line) => line.split("  ")[0]);
  const more = (after: string) => `There are more: deno task -q laneway keys list --limit 2 --after "${after}"`;
  assertEquals(namesIn(await keys("list", "--limit", "2")), ["a", "b", more("b")]);
  assertEquals(namesIn(await keys("list", "--limit", "2", "--after", "b")), ["c", "d", more("d")]);
  await keys("revoke", "e");
  assertEquals(namesIn(await keys("list", "--limit", "2", "--after", "b")), ["c", "d"]);
  assertEquals(namesIn(await keys("list")), ["a", "b", "c", "d"]);
  await keys("revoke", "b");
  await assertRejects(() => keys("list", "--limit", "2", "--after", "b"), KeysStateError, 'Cannot find key "b"');
  await assertRejects(() => keys("revoke", "b"), KeysStateError, 'Cannot find key "b"');
});

Deno.test("keys: one may have a budget, and be one of a team; the list says what is left of both", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const keyring = createKeyring(store, () => NOW);
  const teams = { research: { budget: { dollars: 20, period: "week" as const } }, plain: {} };
  const read = (budgets: readonly Budget[]) =>
    Promise.resolve(
      budgets.map((budget, index) =>
        describe({ budget, period: periodAt(budget.period, NOW), spent: picoDollars(index + 0.25)! })
      ),
    );
  const keys = (...args: string[]) => keysCommand(args, keyring, CONFIGURED, "start", { teams, read });
  await keys("create", "anna", "--budget", "5.5/day", "--team", "research");
  await keys("create", "ben", "--budget", "100/total");
  await keys("create", "cleo", "--team", "plain");
  const [anna] = await keyring.list(ALL);
  assertEquals([anna!.budget, anna!.team], [{ dollars: 5.5, period: "day" }, "research"]);
  const since = `since ${CREATED.slice(0, 10)}`;
  assertEquals((await keys("list")).split("\n"), [
    `anna  ${since}; 4.25 of 5.5 dollars left (day 2027-01-15); team research: 19.75 of 20 dollars left (week 2027-01-11)`,
    `ben   ${since}; 97.75 of 100 dollars left (total)`,
    `cleo  ${since}; team plain`,
  ]);
  await keys("create", "carl", "--budget", "5/day", "--unpriced", "allow");
  assertEquals((await keyring.list(ALL)).find(({ name }) => name === "carl")?.budget, {
    dollars: 5,
    period: "day",
    unpriced: "allow",
  });
  await assertRejects(() => keys("create", "x", "--unpriced", "allow"), Error, "goes with --budget");
  await assertRejects(() => keys("create", "x", "--budget", "5/day", "--unpriced", "no"), Error, "allow or refuse");
  for (const budget of ["5", "5/year", "-5/day", "five/day", "5/day/more", "1e3/day", "/day", "0.0000001/day"]) {
    await assertRejects(
      () => keys("create", "x", `--budget=${budget}`),
      KeysError,
      `Cannot use "${budget}" for --budget`,
    );
  }
  await assertRejects(() => keys("create", "x", "--team", "no"), KeysError, 'Cannot find team "no"');
});

for (
  const [args, complaint] of [
    [[], "No command"],
    [["make"], 'Unknown command "make"'],
    [["lst"], 'Unknown command "lst"; did you mean "list"?'],
    [["--json", "list"], "No command"],
    [["list", "--lmit", "3"], "Unknown option '--lmit'; did you mean --limit?"],
    [["list", "all"], "takes no arguments"],
    [["list", "--limit", "0"], 'Cannot use "0" for --limit'],
    [["list", "--lane", "oss"], "Unknown option '--lane'"],
    [["create"], "Expected one name for the key"],
    [["create", " "], "Expected one name for the key"],
    [["create", "a", "b"], "Expected one name for the key"],
    [["create", "a", "--lane", "no"], 'Cannot find lane "no"'],
    [["create", "a", "--expires", "soon"], 'Cannot read the date "soon"'],
    [["create", "a", "--expires", "2020-01-01"], 'Cannot use "2020-01-01" for --expires: it is in the past'],
    [["create", "a", "--tokens-per-day", "0"], 'Cannot use "0" for --tokens-per-day'],
    [["create", "a", "--tokens-per-day", "1e3"], 'Cannot use "1e3" for --tokens-per-day'],
    [["create", "a", "--until", "2027"], "Unknown option '--until'"],
    [["rotate"], "Expected the name of one key"],
    [["rotate", "a", "b"], "Expected the name of one key"],
    [["rotate", "a"], 'Cannot find key "a"'],
    [["rotate", "a", "--keep", "soon"], 'Cannot use "soon" for --keep'],
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
