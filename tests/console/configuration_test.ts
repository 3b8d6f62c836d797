/** The file of the configuration, as operators change it at the console. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Config } from "../../src/app.ts";
import type { Permission } from "../../src/platform/platform.ts";
import { applied, checked, FIRST, newRig, OPS, shown } from "./configuration_rig.ts";
import { turnsDuring } from "../support/turns.ts";

Deno.test("configuration: a change is checked, written with the file's mode, served by, and can be taken back", async () => {
  await using rig = await newRig();
  const { text, version, former, why, waits } = await shown(rig);
  assertEquals([former, why, waits], [undefined, undefined, undefined]);
  assert(!text.includes("hidden-from-all"));
  assertStringIncludes(text, '"env": "TEAM_KEY"');
  const changed = text.replace('"rounds": 2', '"rounds":   4');
  assertEquals(await checked(rig, changed), { paths: ["retry.rounds"] });
  assertEquals(await applied(rig, { text: changed, version }), { outcome: "applied" });
  assertEquals(await Deno.readTextFile(rig.file), FIRST.replace('"rounds": 2', '"rounds":   4'), "Only that");
  assertEquals((await Deno.stat(rig.file)).mode! & 0o777, 0o640);
  assertEquals(rig.running().retry.rounds, 4);
  const after = await shown(rig);
  assertEquals(after.former.replace(/\*\*\*\d+/, ""), text.replace(/\*\*\*\d+/, ""));
  assertEquals(await applied(rig, { text: after.former, version: after.version }), { outcome: "applied" });
  assertEquals(await Deno.readTextFile(rig.file), FIRST);
  assertEquals(rig.running().retry.rounds, 2);
  const names = Array.from(Deno.readDirSync(rig.file.replace(/[^/]*$/, "")), ({ name }) => name);
  assertEquals(names.filter((name) => name.includes("laneway")), ["gateway.json.laneway-former"], "No draft is left");
});

Deno.test("configuration: others have their turns while one with many models is looked at and checked", async () => {
  const models = Array.from(
    { length: 40 },
    (_, index) => `"model-${index}": { "task": "chat", "targets": [{ "upstream": "fake", "model": "m" }] }`,
  );
  const text = FIRST.replace('"oss": {', `"oss": { "models": { ${models.join(", ")} },`);
  await using rig = await newRig({ text });
  const read = await shown(rig);
  // One for each text that is masked and each step of the check.
  const looks = await turnsDuring(() => shown(rig));
  assert(looks >= 300, `${looks} turns`);
  const checks = await turnsDuring(async () => assertEquals(await checked(rig, read.text), { paths: [] }));
  assert(checks >= 600, `${checks} turns`);
  const wrong = read.text.replaceAll('"upstream": "fake"', '"upstream": "fakr"');
  const { problems } = await checked(rig, wrong);
  assertEquals(problems.length, models.length);
});

Deno.test("configuration: what cannot be used is named and never written", async () => {
  await using rig = await newRig();
  const { text, version } = await shown(rig);
  const wrong: [text: string, path: string, message: RegExp][] = [
    [text.replace('"chat": "fake"', '"chat": "fak"'), "lanes.oss.upstreams.chat", /fak/],
    [text.replace('"rounds"', '"ronds"'), "retry.ronds", /Unknown setting/],
    [text.replace("TEAM_KEY", "NOT_SET"), "keys[0].secret.env", /NOT_SET/],
    [text.replace('"memory" }', '"memory"'), "", /^line \d, column/],
    ["", "", /empty/],
    // Elsewhere it would be shown; a number that is nobody's would take the secret's place.
    [text.replace('"fake": {', '"fake": { "driver2": "***1***",'), "", /^line 4: .*in its place/],
    [text.replace("***1***", "***2***"), "", /^line 4: /],
    ["[".repeat(500_000), "", /more than 512 levels deep/],
  ];
  for (const [text, path, message] of wrong) {
    const { problems } = await checked(rig, text);
    assertEquals(
      problems.some((one: { path: string; message: string }) => one.path === path && message.test(one.message)),
      true,
      JSON.stringify(problems),
    );
    const { outcome } = await applied(rig, { text, version });
    assertEquals(outcome, "wrong");
  }
  assertEquals(await Deno.readTextFile(rig.file), FIRST);
});

Deno.test("configuration: numbers of what is hidden mean what they meant when they were shown", async () => {
  await using rig = await newRig();
  const formerly = (secret: string) =>
    Deno.writeTextFile(`${rig.file}.laneway-former`, FIRST.replace("hidden-from-all", secret));
  await formerly("one");
  const { former, version } = await shown(rig);
  await formerly("other");
  assertEquals((await applied(rig, { text: former, version })).outcome, "conflict");
  assertEquals(await Deno.readTextFile(rig.file), FIRST);
});

Deno.test("configuration: a file that was changed meanwhile is not overwritten, and of two at once one wins", async () => {
  await using rig = await newRig();
  const { text, version } = await shown(rig);
  await Deno.writeTextFile(rig.file, FIRST.replace("2", "5"));
  const mine = text.replace('"rounds": 2', '"rounds": 3');
  assertEquals((await applied(rig, { text: mine, version })).outcome, "conflict");
  assertStringIncludes(await Deno.readTextFile(rig.file), '"rounds": 5');
  const now = await shown(rig);
  const orders = [3, 4].map((rounds) =>
    applied(rig, { text: now.text.replace('"rounds": 5', `"rounds": ${rounds}`), version: now.version })
  );
  assertEquals((await Promise.all(orders)).map(({ outcome }) => outcome).sort(), ["applied", "conflict"]);
  const held = await shown(rig);
  await Deno.writeTextFile(`${rig.file}.laneway-new`, "of another process");
  const more = { text: held.text.replace('"retry"', ' "retry"'), version: held.version };
  assertEquals((await applied(rig, more)).outcome, "conflict");
  await Deno.utime(`${rig.file}.laneway-new`, new Date(0), new Date(0));
  assertEquals((await applied(rig, more)).outcome, "applied", "Who left that was stopped long ago");
});

Deno.test("configuration: who would lock operators out is warned", async () => {
  await using rig = await newRig();
  const { text } = await shown(rig);
  const cases: [from: string | RegExp, to: string, warning: RegExp][] = [
    ['{ "edit": true }', "false", /will be turned off/],
    ['"edit": true', "", /no longer be able to change/],
    [', "operator": true', "", /No operator/],
    ['"operator": true', '"operator": true, "expires": "2020-01-01T00:00:00Z"', /No operator/],
    [/"store": .*/, '"storedKeys": true,', /^$/],
    [/"keys"[^]*?\],([^]*)"store": .*/, '$1"storedKeys": true,', /stored key/],
  ];
  for (const [from, to, warning] of cases) {
    assertMatch((await checked(rig, text.replace(from, to))).warning ?? "", warning, to);
  }
  assertEquals((await checked(rig, text.replace('"rounds": 2', '"rounds": 3'))).warning, undefined);
  const byGroup = (login: string) =>
    text.replace(', "operator": true', "").replace(
      '"store"',
      `"oidc": { "issuer": "https://id.test", "audience": ["a"], "groups": [{ "name": "g", "operator": true }]${login} }, "store"`,
    );
  const login = ', "console": { "clientId": "c", "url": "https://gateway.test/console" }';
  const { paths, warning } = await checked(rig, byGroup(login));
  assertEquals([paths.includes("oidc"), warning], [true, undefined]);
  assertMatch((await checked(rig, byGroup(""))).warning, /No operator/, "A token opens no session");
});

Deno.test("configuration: who takes all keys away from elsewhere than the gateway's machine is warned", async () => {
  await using rig = await newRig();
  const { text } = await shown(rig);
  const warningFor = async (to: string, host: string, hostname: string, headers: HeadersInit = {}) => {
    const own = { "x-api-key": OPS, "content-type": "application/json", host, ...headers };
    const peer: Deno.NetAddr = { transport: "tcp", hostname, port: 1 };
    return (await (await rig.ask("/check", { text: to }, own, peer)).json()).warning;
  };
  const without = text.replace(/"keys"[^]*?\],/, "");
  const [local, behindProxy, remote] = [["localhost:8000", "127.0.0.1"], ["gateway.test", "127.0.0.1"], [
    "10.0.0.1",
    "10.0.0.2",
  ]] as const;
  for (const [host, peer] of [behindProxy, remote]) {
    assertMatch(await warningFor(without, host, peer), /only the gateway's own machine/, host);
    assertEquals(await warningFor(text.replace('"rounds": 2', '"rounds": 3'), host, peer), undefined, host);
  }
  assertEquals(await warningFor(without, ...local), undefined);
  const origin = { origin: "https://gateway.test", "sec-fetch-site": "same-origin" };
  assertMatch(await warningFor(without, ...local, origin), /only the gateway/, "A proxy that gives its own address");
  assertMatch(await warningFor(without.replace(/"store": .*/, '"storedKeys": true,'), ...remote), /stored key/);
});

Deno.test("configuration: what needs a restart is named, and written for the next start where that is wanted", async () => {
  const granted = (one: Permission) => one.name !== "net" || one.host !== "new.test:443";
  await using rig = await newRig({ isGranted: granted });
  const { text, version } = await shown(rig);
  const cases: [from: string | RegExp, to: string, said: string][] = [
    ['"kind": "memory"', '"kind": "kv", "path": "/x"', "Another store needs a restart"],
    ["http://upstream.test/v1", "https://new.test/v1", "New permissions need a restart: host new.test:443"],
    ['"retry"', '"listen": { "port": 1 }, "retry"', "Listening on 127.0.0.1 port 1 needs a restart"],
  ];
  for (const [from, to, said] of cases) {
    assertEquals((await checked(rig, text.replace(from, to))).restart, said);
    assertEquals(await applied(rig, { text: text.replace(from, to), version }), { outcome: "restart", message: said });
  }
  assertEquals(await Deno.readTextFile(rig.file), FIRST);
  const [from, to, said] = cases[1]!;
  assertEquals(await applied(rig, { text: text.replace(from, to), version, atRestart: true }), { outcome: "saved" });
  assertStringIncludes(await Deno.readTextFile(rig.file), "new.test");
  assertEquals([(await shown(rig)).waits, rig.running().upstreams.fake!.baseUrl], [said, "http://upstream.test/v1"]);
});

Deno.test("configuration: where it may not be changed, the page says why, and nothing is written", async () => {
  const off = FIRST.replace('{ "edit": true }', "{}");
  const cases: [options: Parameters<typeof newRig>[0], said: string][] = [
    [{ text: off }, '"console": { "edit": true }'],
    [{ isGranted: ({ name }) => name !== "write" }, "restart the gateway"],
  ];
  for (const [options, said] of cases) {
    await using rig = await newRig(options);
    const { text, version, why } = await shown(rig);
    assertStringIncludes(why, said);
    const { outcome, message } = await applied(rig, { text: text.replace("2", "3"), version });
    assertEquals([outcome, message], ["failed", why]);
    assertEquals(await Deno.readTextFile(rig.file), options!.text ?? FIRST);
  }
  await using rig = await newRig();
  await Deno.chmod(rig.file, 0o440);
  assertStringIncludes((await shown(rig)).why, "read-only");
  await Deno.rename(rig.file, `${rig.file}.real`);
  await Deno.symlink(`${rig.file}.real`, rig.file);
  assertStringIncludes((await shown(rig)).why, "a link");
});

Deno.test("configuration: the file keeps its group, and the former text has the same rights", async () => {
  await using rig = await newRig();
  // Only root can give a file to any group; with others it is their own, and must be so afterwards.
  if (Deno.uid() === 0) await Deno.chown(rig.file, null, 12_345);
  const { gid } = await Deno.stat(rig.file);
  await Deno.writeTextFile(`${rig.file}.laneway-former`, "of any rights", { mode: 0o666 });
  const { text, version } = await shown(rig);
  assertEquals(await applied(rig, { text: text.replace("2", "3"), version }), { outcome: "applied" });
  for (const path of [rig.file, `${rig.file}.laneway-former`]) {
    const found = await Deno.stat(path);
    assertEquals([found.gid, found.mode! & 0o777], [gid, 0o640], path);
  }
});

Deno.test("configuration: a change of nothing leaves the former text, and a text that cannot be served by is taken back", async () => {
  const mayServe = ({ retry: { rounds } }: Config) => {
    if (rounds === 5) throw new Error("No such rounds");
  };
  await using rig = await newRig({ mayServe });
  const { text, version } = await shown(rig);
  assertEquals(await applied(rig, { text, version }), { outcome: "applied" });
  const same = await shown(rig);
  assertEquals([same.former, same.version], [undefined, version]);
  const { outcome, message } = await applied(rig, { text: text.replace('"rounds": 2', '"rounds": 5'), version });
  assertEquals([outcome, message], ["failed", "The gateway keeps the running configuration: No such rounds"]);
  assertEquals([await Deno.readTextFile(rig.file), rig.running().retry.rounds], [FIRST, 2]);
});

Deno.test("configuration: a mark of the byte order and line ends are kept; what is not UTF-8 is not changed", async () => {
  const text = `\ufeff${FIRST.replaceAll("\n", "\r\n").replace("\r\n", "\n")}`;
  await using rig = await newRig({ text });
  const before = await shown(rig);
  const changed = before.text.replace('"rounds": 2', '"rounds": 3');
  assertEquals((await applied(rig, { text: changed, version: before.version })).outcome, "applied");
  assertEquals(await Deno.readTextFile(rig.file), text.replace('"rounds": 2', '"rounds": 3'));
  await Deno.writeFile(rig.file, Uint8Array.of(0x7b, 0xff, 0x7d));
  assertStringIncludes((await shown(rig)).why, "UTF-8");
});

Deno.test("configuration: only operators, from the console's own pages; each change is in the audit log", async () => {
  await using rig = await newRig();
  const { text, version } = await shown(rig);
  const json = { "content-type": "application/json" };
  for (const path of ["", "/schema?path=[]"]) assertEquals((await rig.ask(path, undefined, {})).status, 401, path);
  for (const path of ["/check", "/apply"]) {
    const order = { text: text.replace("2", "3"), version };
    assertEquals((await rig.ask(path, order, json)).status, 401);
    assertEquals((await rig.ask(path, order, { ...json, "x-api-key": OPS, origin: "http://evil.test" })).status, 403);
    assertEquals((await rig.ask(path, { text: "x".repeat(2 ** 20) })).status, 413);
    assertEquals((await rig.ask(path, { text: 1 })).status, 400);
  }
  for (const path of ["{", '"x"', "[{}]"]) {
    assertEquals((await rig.ask(`/schema?path=${encodeURIComponent(path)}`)).status, 400, path);
  }
  assertEquals(await Deno.readTextFile(rig.file), FIRST);
  await applied(rig, { text: text.replace('"rounds": 2', '"rounds": 3'), version });
  let log = "";
  while (!log) log = await Deno.readTextFile(rig.audit).catch(() => "");
  assertEquals(JSON.parse(log.trim().split("\n").at(-1)!).by, "ops");
});
