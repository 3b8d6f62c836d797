/** Secrets in files: everywhere that a configuration names a secret, it may name a file. */
import { assertEquals } from "@std/assert";
import { secretsOf } from "../../src/compose/secrets.ts";
import { pluginFacts } from "../../src/app.ts";
import { ConfigError, parseConfig } from "../../src/config/load.ts";
import { permissionsOf } from "../../src/config/permissions.ts";
import type { Config } from "../../src/config/schema.ts";
import { fileWithoutSecret, secretsInFiles, withPlaceholders } from "../../src/config/secrets.ts";

const inFile = (name: string) => ({ file: `/run/${name}` });

/** A configuration with a secret in a file at each place. */
const ALL = {
  upstreams: { up: { driver: "chat", baseUrl: "https://up.test/v1", secret: inFile("upstream") } },
  catalogs: { hub: { plugin: "hub", baseUrl: "https://hub.test", secret: inFile("catalog") } },
  lanes: { oss: { upstreams: { chat: "up" } } },
  keys: [{ name: "anna", secret: inFile("key") }],
  sealing: { key: inFile("sealing") },
  store: { kind: "redis", url: inFile("store"), sentinel: { name: "main", password: inFile("sentinel") } },
  oidc: {
    issuer: "https://issuer.test",
    audience: ["laneway"],
    console: { clientId: "console", url: "https://gate.test", secret: inFile("client") },
  },
  hostedTools: {
    webSearch: { backend: "brave", baseUrl: "https://search.test", secret: inFile("search") },
    webFetch: { url: "http://fetcher.test:8100", secret: inFile("fetcher") },
    mcp: { servers: { docs: { url: "https://mcp.test/mcp", secret: inFile("mcp") } } },
  },
};

const NAMES = ["upstream", "catalog", "key", "sealing", "store", "sentinel", "client", "search", "fetcher", "mcp"];

/** The files of a machine. */
function files(changes: Record<string, string | undefined> = {}) {
  const texts: Record<string, string | undefined> = {
    ...Object.fromEntries(NAMES.map((name) => [name, `the-secret-of-${name}\n`])),
    store: "redis://:word@store.test:7000",
    ...changes,
  };
  return (path: string) => {
    const text = texts[path.replace("/run/", "")];
    if (text === undefined) throw new Error("No such file");
    return text;
  };
}

const env = () => undefined;

function parse(readText: (path: string) => string, config: unknown = ALL): Config {
  return parseConfig(config, "a test", { ...pluginFacts(), env, secretText: readText });
}

function problems(changes: Record<string, string | undefined>, config: unknown = ALL): string[] {
  try {
    parse(files(changes), config);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
}

Deno.test("secret files: each secret of a configuration may be in one, which the process may read, and is masked", () => {
  const readText = files();
  const config = parse(readText);
  const permitted = permissionsOf({ config: ALL, listen: {}, env, os: "linux", isThere: () => false, readText });
  assertEquals(NAMES.filter((name) => !permitted.read.includes(`/run/${name}`)), []);
  assertEquals(permitted.net.includes("store.test:7000"), true);
  assertEquals(permitted.write.filter((path) => path.startsWith("/run/")), []);
  const masked = secretsOf(config, { env, readText }).map(({ name }) => name);
  assertEquals(NAMES.filter((name) => !masked.includes(`/run/${name}`)), []);
});

Deno.test("secret files: a change takes effect without a restart, but for those of the store", () => {
  const config = parse(files());
  const before = secretsInFiles(config, { env, readText: files() });
  const changes = NAMES.filter((name) =>
    secretsInFiles(config, { env, readText: files({ [name]: "another-secret" }) }) !== before
  );
  assertEquals(changes, NAMES.filter((name) => !["store", "sentinel"].includes(name)));
});

Deno.test("secret files: what a gateway needs at its start is missed there, and no secret is shown", () => {
  const lacks = (name: string, path: string) => [
    `${path}.file: File "/run/${name}" holds no secret: write it there, and let the gateway's user read it`,
  ];
  for (const text of [undefined, "", " \n", "two words"]) {
    assertEquals(problems({ key: text }), lacks("key", "keys[0].secret"));
    assertEquals(problems({ sealing: text }), lacks("sealing", "sealing.key"));
    assertEquals(problems({ store: text }), lacks("store", "store.url"));
    assertEquals(problems({ sentinel: text }), lacks("sentinel", "store.sentinel.password"));
    assertEquals(problems({ search: text }), lacks("search", "hostedTools.webSearch.secret"));
    assertEquals(problems({ fetcher: text }), lacks("fetcher", "hostedTools.webFetch.secret"));
    // Requests get 503 until it is there.
    assertEquals(problems({ upstream: text }), []);
  }
  assertEquals(problems({ sealing: "short" }), [
    'sealing.key.file: File "/run/sealing" must have at least 16 characters',
  ]);
  assertEquals(problems({ fetcher: "short" }), [
    'hostedTools.webFetch.secret.file: File "/run/fetcher" needs at least 16 characters',
  ]);
  assertEquals(problems({ store: "http://no" }), [
    'store.url.file: File "/run/store" must hold a URL such as redis://user:password@store.example.com:6379/0',
  ]);
});

Deno.test("secret files: one place for each secret", () => {
  const keys = (secret: object) => problems({}, { ...ALL, keys: [{ name: "anna", secret }] });
  const refused = ['keys[0].secret: Expected { "env": "NAME" }: a secret itself is never written here'];
  assertEquals([keys({}), keys({ env: "A", file: "/run/key" })].map(([first]) => [first]), [refused, refused]);
  assertEquals(keys({ file: "" }).length, 1);
});

Deno.test("secret files: a command that needs no secrets reads a configuration without them, and names what is missing", () => {
  const missing: string[] = [];
  const readText = files({ key: undefined, sealing: "" });
  parseConfig(ALL, "a test", {
    ...pluginFacts(),
    ...withPlaceholders({ env, readText }, (name) => missing.push(name)),
  });
  assertEquals([...new Set(missing)].sort(), ["a secret in /run/key", "a secret in /run/sealing"]);
});

Deno.test("secret files: a running gateway knows which file has lost the secret that it needs", () => {
  const config = parse(files());
  const lost = (changes: object) => fileWithoutSecret(config, { env, readText: files({ ...changes }) });
  assertEquals([lost({}), lost({ mcp: "" }), lost({ key: "" }), lost({ sealing: undefined })], [
    undefined,
    undefined,
    "/run/key",
    "/run/sealing",
  ]);
});
