/** The command `version`, which asks a registry for a newer one only if it is told to. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { deno } from "../../src/platform/deno.ts";
import { CommandError, UsageError } from "../../src/programs/program.ts";
import { registryUrl } from "../../src/programs/version/registry.ts";
import { version } from "../../src/programs/version/mod.ts";
import { withFolder } from "../support/process.ts";
import { streamsTo } from "../support/streams.ts";

const OWN = manifest.version;
const [NEWER, OLDER] = ["999.0.0", "0.0.9"];

type Answer = (request: Request) => Response | Promise<Response>;

function released(latest: string, versions: string[]): Response {
  const entries = versions.map((version) => [version, { name: "laneway", version }]);
  return Response.json({ "dist-tags": { latest }, versions: Object.fromEntries(entries) });
}

/** Runs the command in this process. `asked`: the URLs that it called. */
async function run(args: string[], answer: Answer, { env = {}, patienceMs = 60_000 }: {
  env?: Record<string, string>;
  patienceMs?: number;
} = {}) {
  let printed = "";
  const asked: string[] = [];
  const streams = streamsTo((text) => printed += text);
  const fetch = ((url: URL, options?: RequestInit) => {
    asked.push(url.href);
    return Promise.resolve(answer(new Request(url, options)));
  }) as typeof globalThis.fetch;
  const platform = { ...deno, env: (name: string) => env[name], isTerminal: () => false, fetch };
  const code = await version(args, { platform, plugins: {}, streams }, patienceMs);
  return { code, printed, asked };
}

const never: Answer = () => {
  throw new Error("It called the registry");
};

Deno.test("version: without --check it calls nobody", async () => {
  assertEquals(await run([], never), { code: 0, printed: OWN, asked: [] });
  await assertRejects(() => run(["--registry", "https://a.test"], never), UsageError, "--registry needs --check");
});

for (
  const [what, latest, versions, line] of [
    ["a newer one", NEWER, [OWN, NEWER], /^0\.1\.0: version 999\.0\.0 is on registry\.npmjs\.org\. docs\/upgrade\.md /],
    ["this one", OWN, [OWN], /^0\.1\.0: it is the newest on registry\.npmjs\.org$/],
    ["an older one", OLDER, [OWN, OLDER], /^0\.1\.0: it is newer than 0\.0\.9, /],
    // Until the first release, the name is free for a stranger's package.
    [
      "not this one",
      NEWER,
      [NEWER],
      /does not have this version, so its package "laneway" \(999\.0\.0\) may be someone /,
    ],
    ["one for trials only", "999.0.0-rc.1", [OWN], /^0\.1\.0: no release is on registry\.npmjs\.org$/],
  ] as const
) {
  Deno.test(`version: the registry has ${what}`, async () => {
    const { code, printed } = await run(["--check"], () => released(latest, [...versions]));
    assertEquals(code, 0);
    assertMatch(printed, line);
    const { printed: json } = await run(["--check", "--json"], () => released(latest, [...versions]));
    const isNewer = what === "a newer one";
    assertEquals(JSON.parse(json).isNewer, isNewer);
  });
}

Deno.test("version: a registry without the package has no release", async () => {
  const { printed, code } = await run(["--check"], () => new Response("not found", { status: 404 }));
  assertEquals([code, printed], [0, `${OWN}: no release is on registry.npmjs.org`]);
});

for (
  const [what, answer, reason] of [
    [
      "refuses",
      () => new Response("no", { status: 401 }),
      "Cannot ask registry.npmjs.org for versions: it answers 401",
    ],
    ["sends elsewhere", () => Response.redirect("https://other.test/"), "it answers 302"],
    ["answers with a page", () => new Response("<html>"), "its answer is not a registry's"],
    ["answers with other JSON", () => Response.json([]), "its answer is not a registry's"],
    ["does not end", () => new Response(endless()), "its answer is not a registry's"],
    ["cannot be reached", () => Promise.reject(new TypeError("dns error")), "registry.npmjs.org has no DNS entry"],
  ] as const
) {
  Deno.test(`version: the registry ${what}`, async () => {
    await assertRejects(() => run(["--check"], answer), CommandError, reason);
  });
}

function endless(): ReadableStream<Uint8Array> {
  const piece = new Uint8Array(100_000).fill(32);
  return new ReadableStream({ pull: (controller) => controller.enqueue(piece) });
}

Deno.test("version: a silent registry is not waited for", async () => {
  const silent: Answer = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const error = await assertRejects(() => run(["--check"], silent, { patienceMs: 1 }), CommandError);
  assertEquals(error.message, "Cannot ask registry.npmjs.org for versions: registry.npmjs.org does not answer in time");
});

Deno.test("version: the registry is the named one, or npm's", async () => {
  const env = { npm_config_registry: "https://mirror.test/npm" };
  const here: Answer = () => released(OWN, [OWN]);
  assertEquals((await run(["--check"], here)).asked, ["https://registry.npmjs.org/laneway"]);
  assertEquals((await run(["--check"], here, { env })).asked, ["https://mirror.test/npm/laneway"]);
  const named = ["--check", "--registry", "http://127.0.0.1:4873/"];
  assertEquals((await run(named, here, { env })).asked, ["http://127.0.0.1:4873/laneway"]);
  for (const wrong of ["x", "file:///etc/passwd", "https://anna:secret@mirror.test", ""]) {
    assertEquals(registryUrl(wrong, () => undefined), undefined, wrong);
    await assertRejects(() => run(["--check", `--registry=${wrong}`], never), UsageError, "Cannot use the registry");
  }
});

Deno.test("version: the launcher lets it call that registry alone", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => released(NEWER, [OWN]));
  try {
    await withFolder(async (cwd) => {
      const registry = `http://127.0.0.1:${server.addr.port}`;
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "--allow-read", "--allow-env", "--allow-run", "--no-prompt", "--quiet"].concat(
          new URL("../../src/cli/launch.ts", import.meta.url).href,
          ["version", "--check"],
        ),
        cwd,
        env: { npm_config_registry: registry, NO_COLOR: "1" },
      }).output();
      const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assertEquals(code, 0, said);
      assert(said.startsWith(`${OWN}: version ${NEWER} is on 127.0.0.1:${server.addr.port}`), said);
    });
  } finally {
    await server.shutdown();
  }
});
