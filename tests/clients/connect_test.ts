/** The command `connect` with the clients themselves: set up, proved, used as it left them, and taken back. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";
import { CLAUDE_CODE, CODEX, GEMINI_CLI, install, OPENCODE } from "./install.ts";

const CONFIG = {
  store: { kind: "memory" },
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: {
    oss: {
      models: {
        small: { task: "chat", contextLength: 128_000, targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
  },
};

/** aider comes from PyPI, and takes half a gigabyte: it is tried where this variable names its program. */
const AIDER = Deno.env.get("LANEWAY_AIDER");

/** Kilo is opencode under another name, and takes 290 megabytes: it is tried where this variable names its program. */
const KILO = Deno.env.get("LANEWAY_KILO");

const CLIENTS = [
  { name: "claude-code", spec: CLAUDE_CODE, bin: "claude", file: ".claude/settings.json", mine: '{"theme": "dark"}' },
  { name: "codex", spec: CODEX, bin: "codex", file: ".codex/laneway.config.toml", mine: '# mine\nmodel = "x"\n' },
  {
    name: "opencode",
    spec: OPENCODE,
    bin: "opencode",
    file: ".config/opencode/opencode.jsonc",
    mine: '{\n  // mine\n  "autoupdate": false,\n}\n',
  },
  { name: "gemini-cli", spec: GEMINI_CLI, bin: "gemini", file: ".gemini/.env", mine: "# mine\nDEBUG=0\n" },
];

const INSTALLED = await Promise.all(CLIENTS.map(async (client) => ({
  ...client,
  installed: await install(client.spec, client.bin),
  says: "small called a tool and received its result",
})));

for (
  const { name, file, mine, installed, says } of [
    ...INSTALLED,
    {
      name: "kilo",
      file: ".config/kilo/kilo.jsonc",
      mine: '{\n  // mine\n  "autoupdate": false,\n}\n',
      installed: KILO === undefined ? { reason: "LANEWAY_KILO is not set" } : { program: KILO },
      says: "small called a tool and received its result",
    },
    {
      name: "aider",
      file: ".aider.conf.yml",
      mine: "# mine\nread: [a.md,b.md]\n",
      installed: AIDER === undefined ? { reason: "LANEWAY_AIDER is not set" } : { program: AIDER },
      // It has no tools.
      says: "it made 1 request for small; 1 got a complete answer",
    },
  ]
) {
  const reason = "reason" in installed ? installed.reason : undefined;
  Deno.test({
    name: `connect: ${name} is set up by one command, proves it, and is as before by another${
      reason ? ` (skipped: ${reason})` : ""
    }`,
    ignore: reason !== undefined,
    fn: () =>
      withFolder(async (folder) => {
        const config = `${folder}/gateway.json`;
        await Deno.writeTextFile(config, JSON.stringify(CONFIG));
        const path = `${folder}/${file}`;
        await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
        await Deno.writeTextFile(path, mine);
        const bins = (installed as { program: string }).program.replace(/\/[^/]+$/, "");
        const env = { HOME: folder, XDG_CONFIG_HOME: "", PATH: `${bins}:${Deno.env.get("PATH")}` };
        await withLaunched(["--config", config], { cwd: folder }, async ({ url }) => {
          const options = { cwd: folder, env };
          const connected = await runLaunched(["connect", name, "--url", url, "--model", "small", "--yes"], options);
          assertEquals(connected.code, 0, connected.stdout + connected.stderr);
          assertStringIncludes(connected.stdout, says);
          assertStringIncludes(await Deno.readTextFile(path), `${url}/oss`);
          const undone = await runLaunched(["connect", name, "--undo", "--yes"], options);
          assertEquals([undone.code, await Deno.readTextFile(path)], [0, mine], undone.stderr);
        });
      }),
  });
}
