import { assertEquals } from "@std/assert";
import { flagsOf, permissionsOf, type PermissionSource } from "../../src/config/permissions.ts";
import { mergeJson } from "../../src/util/config_text.ts";

const HOME = { HOME: "/home/me" };

function permissions(
  config: unknown,
  changes: Partial<Omit<PermissionSource, "env">> & { env?: Record<string, string> } = {},
) {
  const { env = HOME, ...rest } = changes;
  return permissionsOf({
    config,
    listen: {},
    os: "linux",
    isThere: () => false,
    ...rest,
    env: (name) => env[name as keyof typeof env],
  });
}

const OWN = [
  "LANEWAY_CONFIG",
  "DENO_DEPLOY",
  "HOME",
  "XDG_DATA_HOME",
  "LOCALAPPDATA",
  "LANEWAY_LAUNCHER",
  "LANEWAY_COMMAND",
  "LANEWAY_MEMORY_LIMIT",
];

Deno.test("launch: the hosts are those of the configuration, with their ports, and where the gateway listens", () => {
  const config = {
    listen: { hostname: "0.0.0.0", port: 9_000 },
    upstreams: {
      a: {
        baseUrl: "https://api.example.com/v1",
        resultsFrom: ["https://*.media.example.com", "http://files.test:81"],
      },
      b: { baseUrl: "http://127.0.0.1:11434/v1" },
      c: { baseUrl: "http://[::1]:8080" },
    },
    catalogs: { hub: { baseUrl: "https://HUB.example.com", filesFrom: ["https://*.cdn.example.com"] } },
  };
  assertEquals(permissions(config).net, [
    "0.0.0.0:9000",
    "api.example.com:443",
    "*.media.example.com:443",
    "files.test:81",
    "127.0.0.1:11434",
    "[::1]:8080",
    "hub.example.com:443",
    "*.cdn.example.com:443",
  ]);
});

Deno.test("launch: the issuer of tokens and the place of its keys are hosts, too", () => {
  const oidc = { issuer: "https://login.example.com/realms/acme", jwksUrl: "https://keys.example.com:8443/jwks" };
  assertEquals(permissions({ oidc }).net, ["127.0.0.1:8000", "login.example.com:443", "keys.example.com:8443"]);
});

Deno.test("launch: the command line's address goes before the configuration's", () => {
  const config = { listen: { hostname: "0.0.0.0", port: 9_000 } };
  assertEquals(permissions(config, { listen: { hostname: "::1", port: "0" } }).net, ["[::1]:0"]);
  assertEquals(permissions({}).net, ["127.0.0.1:8000"]);
});

Deno.test("launch: the variables are those that the configuration names, and the gateway's own", () => {
  const config = {
    keys: [{ name: "a", secret: { env: "TEAM_KEY" } }],
    upstreams: { a: { secret: { env: "A_TOKEN" } }, b: { secret: "client" }, c: { secret: { env: "not a name" } } },
    catalogs: { hub: { secret: { env: "A_TOKEN" } } },
    sealing: { key: { env: "SEAL_KEY" } },
  };
  assertEquals(permissions(config).env, [...OWN, "A_TOKEN", "TEAM_KEY", "SEAL_KEY"]);
});

Deno.test("launch: the files are the configuration and the folder of the store", () => {
  const folders = (store: unknown, changes = {}) => permissions({ store }, { file: "gateway.json", ...changes });
  assertEquals(folders(undefined).write, ["/home/me/.local/share/laneway/"]);
  assertEquals(folders(undefined, { code: "/app/src/" }).read, [
    "gateway.json",
    "/app/src/",
    "/home/me/.local/share/laneway/",
  ]);
  assertEquals(folders({ path: "/data/deep/store.sqlite3" }).write, ["/data/deep/"]);
  assertEquals(folders({ kind: "memory" }), { ...folders({ kind: "memory" }), read: ["gateway.json"], write: [] });
  assertEquals(folders(undefined, { env: { XDG_DATA_HOME: "/xdg" } }).write, ["/xdg/laneway/"]);
  assertEquals(folders(undefined, { os: "darwin" }).write, ["/home/me/Library/Application Support/laneway/"]);
  assertEquals(folders(undefined, { os: "windows", env: { LOCALAPPDATA: "C:\\L" } }).write, ["C:\\L\\laneway\\"]);
  assertEquals(folders(undefined, { env: {} }).write, []);
});

Deno.test("launch: in a folder that is there already, the store gets its own files only", () => {
  for (const folder of ["", "/data/"]) {
    const store = { path: `${folder}store.sqlite3` };
    assertEquals(permissions({ store }, { isThere: () => true }).write, [
      `${folder}store.sqlite3`,
      `${folder}store.sqlite3-wal`,
      `${folder}store.sqlite3-shm`,
      `${folder}store.sqlite3-journal`,
      `${folder}tokenizers`,
    ]);
  }
});

Deno.test("launch: an address that is none opens nothing, so that the gateway can say so", () => {
  for (const listen of [{ port: "http" }, { port: "65536" }, { hostname: "*" }, { hostname: "a b" }]) {
    assertEquals(permissions({}, { listen }).net, []);
  }
  assertEquals(permissions({}, { listen: { port: "80" } }).net, ["127.0.0.1:80"]);
  assertEquals(
    permissions({ upstreams: { a: { baseUrl: "https://b\u00fccher.example" } } }).net[1],
    "xn--bcher-kva.example:443",
  );
});

Deno.test("launch: what has the wrong type opens nothing", () => {
  for (const config of [null, [], "text", { upstreams: [1], keys: {}, store: 7, catalogs: "x", listen: [] }]) {
    const { net, env } = permissions(config);
    assertEquals([net, env], [["127.0.0.1:8000"], OWN]);
  }
  assertEquals(
    permissions({ upstreams: { a: { baseUrl: "file:///etc", resultsFrom: ["*", "https://"] } } }).net.length,
    1,
  );
});

Deno.test("launch: of a server, the store needs its hosts, its variables and its certificates, and no file", () => {
  const config = { store: { kind: "redis", url: { env: "STORE_URL" }, ca: "/etc/ca.pem" } };
  const env = { ...HOME, STORE_URL: "rediss://user:p%40ss@store.test:6380,[::1]/2" };
  assertEquals(permissions(config, { env }), {
    net: ["127.0.0.1:8000", "store.test:6380", "[::1]:6379"],
    env: [...OWN, "REDIS_DEBUG_MAINTENANCE", "STORE_URL"],
    read: ["/etc/ca.pem"],
    write: [],
  });
  assertEquals(permissions(config).net, ["127.0.0.1:8000"]);
});

Deno.test("launch: of sentinels or a cluster, the store needs the servers that those may name, too", () => {
  const servers = ["10.0.3.0/24:6379", "*.store.test:6379", "[::1]:7000", "no port", 7, "a:1,b:2"];
  const sentinel = { name: "main", password: { env: "SENTINEL_WORD" } };
  const config = { store: { kind: "redis", url: { env: "STORE_URL" }, sentinel, servers } };
  const { net, env } = permissions(config, { env: { ...HOME, STORE_URL: "redis://one.test:26379,two.test:26379" } });
  assertEquals(net, ["127.0.0.1:8000", "one.test:26379", "two.test:26379", ...servers.slice(0, 3)]);
  assertEquals(env, [...OWN, "REDIS_DEBUG_MAINTENANCE", "STORE_URL", "SENTINEL_WORD"]);
});

Deno.test("launch: the options hold what they should and no more", () => {
  assertEquals(flagsOf({ net: ["a:1", "b:2"], env: ["A"], read: ["/with,comma"], write: [] }), [
    "--allow-net=a:1,b:2",
    "--allow-env=A",
    "--allow-read=/with,,comma",
    "--allow-sys=systemMemoryInfo",
    "--deny-import",
    "--cached-only",
    "--no-prompt",
    "--v8-flags=--no-allocation-site-pretenuring,--no-memory-reducer,--invocation-count-for-turbofan=750",
  ]);
});

Deno.test("launch: a configuration that extends the default is merged key by key", () => {
  const base = { a: { x: 1, y: [1, 2] }, b: 2 };
  assertEquals(mergeJson(base, { a: { y: [3], z: 4 }, b: null }), { a: { x: 1, y: [3], z: 4 } });
});

Deno.test("launch: of pages, the gateway is let to the fetcher alone, wherever that is", () => {
  const beside = { hostedTools: { webFetch: { allow: ["http://wiki.internal:8080"] } } };
  const env = { ...HOME, LANEWAY_FETCHER_URL: "http://127.0.0.1:4321", LANEWAY_FETCHER_TOKEN: "t" };
  const started = permissions(beside, { env });
  assertEquals(started.net, ["127.0.0.1:8000", "127.0.0.1:4321"]);
  assertEquals(started.env, [...OWN, "LANEWAY_FETCHER_URL", "LANEWAY_FETCHER_TOKEN"]);
  assertEquals(permissions(beside).net, ["127.0.0.1:8000"]);
  const apart = { hostedTools: { webFetch: { url: "http://10.0.0.7:8100", secret: { env: "FETCHER_TOKEN" } } } };
  const { net, env: variables } = permissions(apart, { env });
  assertEquals([net, variables], [["127.0.0.1:8000", "10.0.0.7:8100"], [...OWN, "FETCHER_TOKEN"]]);
  assertEquals(permissions({}, { env }).net, ["127.0.0.1:8000"]);
});
