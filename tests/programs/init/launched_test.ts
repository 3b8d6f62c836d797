/** The command `init` as people start it, by the launcher with the permissions that it gives, and the gateway that follows. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Answers } from "../../../src/programs/init/answers.ts";
import { initFlags } from "../../../src/programs/init/permissions.ts";
import { runLaunched, withFolder, withLaunched } from "../../support/process.ts";
import { fakeOllama } from "./servers.ts";

const KEY = "a-key-of-this-test-4711";

/** Runs the launcher with a text for standard input. */
async function runWith(input: string, args: string[], cwd: string) {
  const launcher = new URL("../../../src/cli/launch.ts", import.meta.url).href;
  const flags = ["--allow-read", "--allow-env", "--allow-run", "--no-prompt"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, launcher, ...args],
    cwd,
    env: { LANEWAY_CONFIG: "", HF_TOKEN: "", NO_COLOR: "1", HOME: cwd, DENO_DIR: denoDir(), npm_command: "" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out: out!, err: err! };
}

function denoDir(): string {
  return Deno.env.get("DENO_DIR") ?? `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/deno`;
}

Deno.test("init: what it writes is valid, and the gateway serves by it with a key, a name and a default", async () => {
  const server = fakeOllama({ key: KEY, models: ["small:8b"] });
  try {
    await withFolder(async (cwd) => {
      const source = { kind: "server", baseUrl: server.url, secret: KEY };
      const checked = await runWith(JSON.stringify(source), ["init", "check", "--json"], cwd);
      assertEquals(checked.code, 0, checked.err);
      assert(!checked.out.includes(KEY));
      const { source: found, upstream } = JSON.parse(checked.out);
      const answers: Answers = {
        sources: [{ ...found, secret: KEY }],
        models: [{ name: "mine", upstream, model: "small:8b" }],
        default: "mine",
      };
      const input = JSON.stringify(answers);
      const plan = await runWith(input, ["init", "plan", "--json"], cwd);
      assertEquals(plan.code, 0, plan.out + plan.err);
      const { version } = JSON.parse(plan.out);
      const written = await runWith(input, ["init", "write", "--json", `--version=${version}`], cwd);
      assertEquals(JSON.parse(written.out), { ok: true, files: [`gateway.${upstream}.secret`, "gateway.json"] });
      const { code, stdout } = await runLaunched(["validate"], { cwd });
      assertEquals(code, 0);
      assertMatch(stdout, /The configuration in "gateway\.json" is valid/);
      await withLaunched([], { cwd }, async ({ url }) => {
        const ask = async (lane: string, model: string) => {
          const messages = [{ role: "user", content: "Hello" }];
          const headers = { "content-type": "application/json" };
          const body = JSON.stringify({ model, messages });
          const response = await fetch(`${url}/${lane}/v1/chat/completions`, { method: "POST", headers, body });
          const { choices, error } = await response.json();
          return choices?.[0].message.content ?? error.message;
        };
        assertEquals(await ask("oss", "mine"), "Hello from small:8b");
        assertEquals(await ask("oss", "claude-sonnet-4-5"), "Hello from small:8b");
        assertEquals(await ask("oss", "gpt-unknown"), "Hello from small:8b");
        assertEquals(await ask(upstream, "small:8b"), "Hello from small:8b");
      });
      assertEquals(server.keys.at(-1), KEY);
    });
  } finally {
    await server.stop();
  }
});

Deno.test("init: questions that are answered by lines come to the same, and their end writes nothing", async () => {
  await withFolder(async (cwd) => {
    const left = await runWith("", ["init"], cwd);
    assertEquals(left.code, 130, left.err);
    assertMatch(left.err, /Nothing was written/);
    assertEquals([...Deno.readDirSync(cwd)].map(({ name }) => name).filter((name) => name.startsWith("gateway")), []);
    const written = await runWith("sandbox\n\n\n1\n", ["init", "--config", "mine.json"], cwd);
    assertEquals(written.code, 0, written.err + written.out);
    assertMatch(written.out, /Start the gateway: +deno task -q laneway --config mine\.json/);
    assertEquals((await runLaunched(["validate", "mine.json"], { cwd })).code, 0);
  });
});

Deno.test("init: it may call servers only where it asks them, write only beside the configuration, and run nothing", () => {
  const named = (flags: string[], name: string) => flags.filter((flag) => flag.startsWith(`--allow-${name}`));
  const flags = (...args: string[]) => initFlags(["init", ...args], "conf/gateway.json");
  assertEquals(named(flags("find", "--json"), "net"), ["--allow-net=127.0.0.1"]);
  assertEquals(named(flags("find", "--json"), "write"), []);
  assertEquals(named(flags("check", "--json"), "net"), ["--allow-net"]);
  assertEquals(named(flags("check", "--json"), "write"), []);
  for (const step of ["plan", "write"]) {
    assertEquals(named(flags(step, "--json"), "net"), []);
    assertEquals(named(flags(step, "--json"), "write"), ["--allow-write=conf/"]);
  }
  assertEquals(named(flags("--provider", "one", "--print"), "write"), []);
  assertEquals(named(flags("--help"), "net"), []);
  assertEquals(named(initFlags(["init"], "gateway.json"), "write"), ["--allow-write=."]);
  for (const all of [flags(), flags("write"), flags("check")]) assertEquals(named(all, "run"), []);
});
