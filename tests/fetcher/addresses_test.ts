import { assert, assertEquals } from "@std/assert";
import { fetcherFlags } from "../../src/cli/fetcher_flags.ts";
import { nodeTransport } from "../../src/platform/node_transport.ts";
import { isPublicAddress, publicLookup } from "../../src/platform/public_address.ts";
import { TransportError } from "../../src/platform/transport.ts";
import { resolverOf } from "../support/fetcher.ts";

Deno.test("addresses of the internet are public, and no others", () => {
  const open = [
    "8.8.8.8",
    "1.1.1.1",
    "172.15.0.1",
    "172.32.0.1",
    "100.63.0.1",
    "100.128.0.1",
    "192.0.1.1",
    "223.255.255.255",
  ];
  const openV6 = ["2606:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"];
  for (const address of [...open, ...openV6]) assert(isPublicAddress(address), address);
  const closed = [
    "127.0.0.1",
    "fe80::1%eth0",
    "::1",
    "::ffff:10.0.0.1",
    "2002:808:808::",
    "2001::1",
    "",
    "localhost",
    "1.2.3",
  ];
  for (const address of closed) assert(!isPublicAddress(address), address);
});

Deno.test("a lookup fails where one of the addresses is not public, however many are asked for", async () => {
  const { resolve } = resolverOf({
    "good.test": [["8.8.8.8", "2606:4700::1111"]],
    "mixed.test": [["8.8.8.8", "10.0.0.1"]],
    "empty.test": [[]],
  });
  const lookup = publicLookup(resolve);
  const find = (name: string, all: boolean) =>
    new Promise((done) => lookup(name, { all }, (error, found) => done(error ? error.message : found)));
  assertEquals(await find("good.test", true), [
    { address: "8.8.8.8", family: 4 },
    { address: "2606:4700::1111", family: 6 },
  ]);
  assertEquals(await find("good.test", false), "8.8.8.8");
  for (const all of [true, false]) {
    assertEquals(await find("mixed.test", all), "The address is not public");
    assertEquals(await find("empty.test", all), "The address is not public");
    assertEquals(await find("unknown.test", all), "ENOTFOUND");
  }
});

Deno.test("a guarded connection is refused before it is made: by name, by address, plain and secure", async () => {
  let connections = 0;
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of listener) {
      connections++;
      connection.close();
    }
  })();
  const { port } = listener.addr;
  const changing = resolverOf({ "changing.test": [["8.8.8.8"], ["127.0.0.1"]], "inside.test": [["127.0.0.1"]] });
  const guards = {
    // What the gateway has: the system's own lookup.
    event: nodeTransport({ mayReach: isPublicAddress }),
    // A resolver that this guard does not know, as a name that changes what it stands for.
    late: nodeTransport({
      mayReach: isPublicAddress,
      lookup: (_name, options, done) => {
        changing.resolve("inside.test", options, (error, found) => done(error, found));
      },
    }),
    lookup: nodeTransport({ lookup: publicLookup(changing.resolve) }),
  };
  const signal = new AbortController().signal;
  const failure = (transport: ReturnType<typeof nodeTransport>, url: string) =>
    transport.send({ url, method: "GET", headers: {}, signal }).then(() => "answered", (thrown) => {
      assert(thrown instanceof TransportError);
      return thrown.failure;
    });
  for (const scheme of ["http", "https"]) {
    assertEquals(await failure(guards.event, `${scheme}://localhost:${port}/`), "not-made");
    assertEquals(await failure(guards.event, `${scheme}://127.0.0.1:${port}/`), "not-made");
    assertEquals(await failure(guards.event, `${scheme}://[::ffff:127.0.0.1]:${port}/`), "not-made");
    assertEquals(await failure(guards.late, `${scheme}://any.test:${port}/`), "not-made");
    assertEquals(await failure(guards.lookup, `${scheme}://inside.test:${port}/`), "not-made");
  }
  assertEquals(connections, 0);
  for (const guard of Object.values(guards)) guard.close();
  listener.close();
  await accepting;
});

const denied = (place: { hostname?: string; allow?: string[] }) => {
  const flags = fetcherFlags({ hostname: "127.0.0.1", allow: [], code: "/code/", ...place });
  return flags.find((flag) => flag.startsWith("--deny-net="))!.slice("--deny-net=".length).split(",");
};

/** Whether an address is in one of the ranges. */
function isIn(ranges: string[], address: string): boolean {
  const number = (text: string) => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  return ranges.filter((range) => range.includes("/")).some((range) => {
    const [base, bits] = range.split("/");
    const size = 2 ** (32 - Number(bits));
    return Math.floor(number(address) / size) === Math.floor(number(base!) / size);
  });
}

Deno.test("the runtime denies every special range, but for what is listened on and what is listed", () => {
  const usual = denied({});
  for (const address of ["127.0.0.0", "127.0.0.2", "127.255.255.255", "10.0.0.1", "169.254.169.254", "0.0.0.0"]) {
    assert(isIn(usual, address), address);
  }
  assert(!isIn(usual, "127.0.0.1") && usual.includes("127.0.0.1:80") && usual.includes("127.0.0.1:443"));
  assert(usual.includes("[::1]") && !isIn(usual, "8.8.8.8"));
  const named = denied({ allow: ["http://wiki.internal:8080"] });
  assert(!isIn(named, "10.0.0.1") && isIn(named, "169.254.169.254") && isIn(named, "127.0.0.2"));
  const numbered = denied({ allow: ["http://10.0.0.7:8080"] });
  assert(!isIn(numbered, "10.0.0.7") && isIn(numbered, "10.0.0.6") && isIn(numbered, "10.0.0.8"));
  const local = denied({ allow: ["http://localhost:8080"] });
  assert(!isIn(local, "127.0.0.2") && !local.includes("[::1]") && isIn(local, "10.0.0.1"));
  const everywhere = denied({ hostname: "0.0.0.0" });
  assert(!isIn(everywhere, "0.0.0.0") && isIn(everywhere, "0.0.0.1") && isIn(everywhere, "127.0.0.1"));
  assert(!denied({ hostname: "::1" }).includes("[::1]"));
});

Deno.test("the runtime itself refuses a connection to what is denied, by whatever name", async () => {
  const program = `
    for (const [hostname, port] of JSON.parse(Deno.args[0])) {
      try {
        (await Deno.connect({ hostname, port })).close();
        console.log(hostname, "connected");
      } catch (error) {
        console.log(hostname, error.name);
      }
    }`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, program);
  const wild = ["127.0.0.2", "10.0.0.1", "169.254.169.254", "0.0.0.1", "192.168.0.1", "::1", "::", "::ffff:127.0.0.2"];
  const flags = fetcherFlags({ hostname: "127.0.0.9", allow: [], code: file });
  const places = [...wild.map((host) => [host, 80]), ["localhost", 80], ["127.0.0.9", 80], ["127.0.0.9", 443]];
  const args = ["run", "--no-config", ...flags, file, JSON.stringify(places)];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1" } }).output();
  await Deno.remove(file);
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  assertEquals(lines, places.map(([host]) => `${host} NotCapable`), new TextDecoder().decode(stderr));
});
