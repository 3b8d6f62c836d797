/** The data of every client: right on every system, and within what the command may do. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { clients } from "../../../plugins/programs/clients/mod.ts";
import { toolTurns } from "../../../plugins/programs/clients/requests.ts";
import { isBlank, withoutSettings, withSettings } from "../../../src/programs/connect/edit.ts";
import { titlesByAgent } from "../../../src/programs/connect/titles.ts";
import { formatOf } from "../../../src/programs/connect/formats/mod.ts";
import { connectFlags } from "../../../src/programs/connect/permissions.ts";
import type { ClientMachine, Connection } from "../../../src/contract/client.ts";

const KEYS: Connection["key"][] = [undefined, { env: "MY_KEY" }, { value: "it's-a-'key'-$HOME" }];
const CONNECTION: Connection = {
  gateway: "http://127.0.0.1:8000",
  lane: "oss",
  model: "glm-5.3",
  contextTokens: 131_072,
  outputTokens: 8_192,
  takesImages: true,
  fillsGaps: true,
};
const HOMES: Record<string, { home: string; env: Record<string, string> }> = {
  linux: { home: "/home/anna", env: { SHELL: "/usr/bin/zsh" } },
  darwin: { home: "/Users/anna", env: { SHELL: "/opt/homebrew/bin/fish" } },
  windows: { home: "C:\\Users\\anna", env: { APPDATA: "C:\\Users\\anna\\AppData\\Roaming" } },
};

function machine(os: string, more: Record<string, string> = {}): ClientMachine {
  const { home, env } = HOMES[os]!;
  return { os, home, env: (name) => ({ ...env, ...more })[name], isThere: () => false };
}

Deno.test("connect: a client and an SDK have titles, by the names that they give themselves", () => {
  const titles = titlesByAgent();
  const agents = ["opencode", "OpenAI", "AsyncAnthropic", "curl"];
  assertEquals(agents.map((agent) => titles.get(agent)), ["opencode", "OpenAI SDK", "Anthropic SDK", undefined]);
});

Deno.test("connect: Continue completes code with a model that fills gaps, and with no other", () => {
  const client = clients.find(({ name }) => name === "continue")!;
  for (const fillsGaps of [true, false, undefined]) {
    const [file] = client.files!({ ...CONNECTION, fillsGaps, key: { env: "MY_KEY" } }, machine("linux"));
    const { models } = formatOf(file!).read(withSettings("", file!)) as { models: Record<string, unknown>[] };
    assertEquals(models.map(({ roles }) => roles), [
      ["chat", "edit", "apply"],
      ...fillsGaps ? [["autocomplete"]] : [],
    ]);
    const { name: _name, roles: _roles, ...autocomplete } = models[1] ?? {};
    assertEquals(
      autocomplete,
      fillsGaps
        ? {
          provider: "openai",
          model: "glm-5.3",
          apiBase: "http://127.0.0.1:8000/oss/v1",
          apiKey: "${{ secrets.MY_KEY }}",
          useLegacyCompletionsEndpoint: true,
        }
        : {},
    );
  }
});

for (const client of clients) {
  Deno.test(`connect: ${client.name}: its files say what it needs, and nothing after undo`, () => {
    for (const os of Object.keys(HOMES)) {
      for (const key of KEYS) {
        for (const file of client.files?.({ ...CONNECTION, key }, machine(os)) ?? []) {
          const text = withSettings("", file);
          const values = JSON.stringify(formatOf(file).read(text));
          assert(!values.includes("undefined"), values);
          assertEquals(withSettings(text, file), text, "connected twice");
          assert(isBlank(withoutSettings(text, "", file).text, file), `${file.path}: something is left`);
          if (key && "env" in key) assert(!text.includes("any"), `${file.path}: a stand-in for a key`);
        }
      }
    }
  });

  Deno.test(`connect: ${client.name}: it is given files, steps, or both`, () => {
    const [files, steps] = [client.files?.(CONNECTION, machine("linux")), client.steps?.(CONNECTION, machine("linux"))];
    assert((files?.length ?? 0) + (steps?.length ?? 0) > 0);
    assert(toolTurns[client.wire], client.wire);
    for (const step of steps ?? []) assert(!/undefined|\[object/.test(step), step);
  });
}

Deno.test("connect: files lie where the clients of each system look for them", () => {
  const paths = (name: string, os: string, more = {}) =>
    clients.find((client) => client.name === name)!.files!(CONNECTION, machine(os, more)).map(({ path }) => path);
  assertEquals(paths("claude-code", "windows"), ["C:\\Users\\anna\\.claude\\settings.json"]);
  assertEquals(paths("claude-code", "linux", { CLAUDE_CONFIG_DIR: "/etc/mine/" }), ["/etc/mine/settings.json"]);
  assertEquals(paths("codex", "linux", { CODEX_HOME: "/srv/codex" }), ["/srv/codex/laneway.config.toml"]);
  assertEquals(paths("codex-app", "linux", { CODEX_HOME: "/srv/codex" }), ["/srv/codex/config.toml"]);
  assertEquals(paths("kilo", "linux"), ["/home/anna/.config/kilo/kilo.jsonc"]);
  assertEquals(paths("kimi", "linux"), ["/home/anna/.kimi/config.toml"]);
  assertEquals(paths("grok", "linux", { GROK_HOME: "/srv/grok" }), ["/srv/grok/config.toml"]);
  assertEquals(paths("claude-desktop", "linux"), []);
  const ends = ["configLibrary/*.json", "configLibrary/_meta.json", "claude_desktop_config.json"];
  const desktop = (base: string, slash: string) => [
    ...ends.map((end) => [base, "Claude-3p", ...end.split("/")].join(slash)),
    [base, "Claude", "claude_desktop_config.json"].join(slash),
  ];
  const entry = /[\da-f-]{36}(?=\.json)/;
  assertEquals(
    paths("claude-desktop", "darwin").map((path) => path.replace(entry, "*")),
    desktop("/Users/anna/Library/Application Support", "/"),
  );
  assertEquals(
    paths("claude-desktop", "windows").map((path) => path.replace(entry, "*")),
    desktop("C:\\Users\\anna\\AppData\\Local", "\\"),
  );
  assertEquals(paths("opencode", "linux", { XDG_CONFIG_HOME: "/cfg" }), ["/cfg/opencode/opencode.json"]);
  assertEquals(paths("opencode", "windows", { XDG_CONFIG_HOME: "/cfg" }), [
    "C:\\Users\\anna\\.config\\opencode\\opencode.json",
  ]);
  assertEquals(paths("zed", "darwin"), ["/Users/anna/.config/zed/settings.json"]);
  assertEquals(paths("zed", "windows"), ["C:\\Users\\anna\\AppData\\Roaming\\Zed\\settings.json"]);
  assertEquals(paths("vscode", "darwin"), [
    "/Users/anna/Library/Application Support/Code/User/chatLanguageModels.json",
  ]);
  assertEquals(paths("copilot", "linux"), ["/home/anna/.zshrc"]);
  assertEquals(paths("copilot", "darwin"), ["/Users/anna/.config/fish/conf.d/laneway.fish"]);
  assertEquals(paths("copilot", "windows"), []);
});

Deno.test("connect: it may write the files of the client that is named, those beside them and its own, and run that client alone", () => {
  const env = (name: string) => ({ HOME: "/home/anna", PATH: "/opt/bin:/usr/bin" })[name];
  const there = new Set(["/home", "/home/anna", "/home/anna/.codex", "/opt/bin/codex", "/usr/bin/claude"]);
  const world = {
    os: "linux",
    env,
    isThere: (path: string) => there.has(path),
    realPath: (path: string) => path,
    readJson: () => undefined,
  };
  const flags = connectFlags(["connect", "codex", "--url", "https://gateway.test"], world);
  const file = "/home/anna/.codex/laneway.config.toml";
  assertEquals(
    flags.find((flag) => flag.startsWith("--allow-write")),
    `--allow-write=${file},${file}.laneway-new,/home/anna/.local/share/laneway/connect,/home/anna/.local`,
  );
  assert(flags.includes("--allow-run=/opt/bin/codex"));
  assert(flags.includes("--allow-net=127.0.0.1,gateway.test:443"));
  const receipt = {
    files: [
      { path: file, folders: ["/home/anna/.codex", "/etc", "/home/anna/.co"] },
      { path: "/elsewhere/x.toml", folders: ["/elsewhere"] },
    ],
  };
  const undo = connectFlags(["connect", "codex", "--undo"], { ...world, readJson: () => receipt });
  const written = undo.find((flag) => flag.startsWith("--allow-write"))!;
  assertStringIncludes(written, "/home/anna/.codex,");
  assert(!/elsewhere|etc|\.co,/.test(written), `A receipt opens nothing but files of the client: ${written}`);
  assert(!undo.some((flag) => flag.startsWith("--allow-run")), "Nothing is run to take it back");
  for (const flag of ["--list", "--print"]) {
    const reading = connectFlags(["connect", "codex", flag], world);
    assert(!reading.some((one) => /^--allow-(write|run)/.test(one)), `${flag} writes nothing`);
  }
});

Deno.test("connect: Claude Desktop is told which models its picker hides, and which addresses it refuses", () => {
  const { steps, files } = clients.find(({ name }) => name === "claude-desktop")!;
  const said = (more: Partial<Connection>) => steps!({ ...CONNECTION, ...more }, machine("darwin")).join("\n");
  assertStringIncludes(said({}), "claude-glm-5.3");
  assert(!said({ model: "claude-glm" }).includes("alias"));
  assert(!said({}).includes("https address"));
  assert(!said({ gateway: "https://gateway.example.com" }).includes("https address"));
  for (const gateway of ["http://localhost:8000", "http://10.0.0.1:8000"]) {
    assertStringIncludes(said({ gateway }), "https address");
  }
  const key = { env: "MY_KEY" };
  assertEquals(files!({ ...CONNECTION, key }, machine("darwin")), []);
  assertStringIncludes(said({ key }), "--key -");
});
