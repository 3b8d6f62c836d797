/** The unit for systemd: judged by systemd's own tools, where this machine has them, and its command run by a shell. */
import { assert, assertEquals } from "@std/assert";
import { debianUnit } from "../../src/cli/release/deb.ts";
import { withFolder } from "../support/process.ts";

const UNIT = new URL("../../deploy/systemd/laneway.service", import.meta.url);
const MAIN = new URL("../../src/main.ts", import.meta.url).href;
const SANDBOX = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { upstreams: { chat: "sandbox" } } },
  store: { kind: "memory" },
};
/** systemd's measure of what a service might do to its machine, from 0 to 10. */
const MOST_EXPOSURE = 2.5;

async function analyze(...args: string[]): Promise<{ code: number; text: string } | undefined> {
  try {
    const { code, stdout, stderr } = await new Deno.Command("systemd-analyze", { args, env: { NO_COLOR: "1" } })
      .output();
    return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw thrown;
  }
}

/** What the unit has a shell do, with another program in place of the gateway. */
function scriptOf(unit: string, program: string): string {
  const [, start = ""] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const [, script = ""] = /^\/bin\/sh -euc '(.*)'$/.exec(start) ?? [];
  return script.replaceAll("$$", "$").replace("/usr/local/bin/laneway", program);
}

const version = await analyze("--version");
const why = version ? "" : " (skipped: systemd-analyze is not installed)";

Deno.test({
  name: `systemd: the unit is one, as is the one in the package for Debian, and may do little to its machine${why}`,
  ignore: version === undefined,
  async fn() {
    await withFolder(async (folder) => {
      const ofDebian = `${folder}/laneway.service`;
      await Deno.writeTextFile(ofDebian, debianUnit());
      for (const unit of [UNIT.pathname, ofDebian]) {
        const { code, text: complaints } = (await analyze("verify", unit))!;
        assertEquals([code, complaints.split("\n").filter((line) => line.includes("laneway"))], [0, []]);
        const { text } = (await analyze("security", "--offline=true", unit))!;
        const [, level] = /Overall exposure level for laneway\.service: ([\d.]+)/.exec(text) ?? [];
        assert(Number(level) < MOST_EXPOSURE, text);
      }
    });
  },
});

Deno.test({
  name: "systemd: each credential becomes the variable that it is named like, and the program takes the shell's place",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const program = `${folder}/laneway`;
      await Deno.writeTextFile(program, '#!/bin/sh\necho "$$" "$HF_TOKEN" "$TEAM_KEY" "$@"\n', { mode: 0o755 });
      await Deno.writeTextFile(`${folder}/secret_HF_TOKEN`, "hf $HOME 'quoted'\n");
      await Deno.writeTextFile(`${folder}/secret_TEAM_KEY`, "team");
      const command = scriptOf(await Deno.readTextFile(UNIT), program);
      const child = new Deno.Command("/bin/sh", {
        args: ["-euc", command],
        env: { CREDENTIALS_DIRECTORY: folder },
        stdout: "piped",
      }).spawn();
      const { stdout } = await child.output();
      assertEquals(
        new TextDecoder().decode(stdout),
        `${child.pid} hf $HOME 'quoted' team --config /etc/laneway/gateway.json\n`,
      );
    });
  },
});

Deno.test({
  name: "systemd: without secrets the program starts, too",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const program = `${folder}/laneway`;
      await Deno.writeTextFile(program, "#!/bin/sh\necho started\n", { mode: 0o755 });
      const args = ["-euc", scriptOf(await Deno.readTextFile(UNIT), program)];
      for (const env of [{ CREDENTIALS_DIRECTORY: folder }, {}] as Record<string, string>[]) {
        const { stdout } = await new Deno.Command("/bin/sh", { args, env }).output();
        assertEquals(new TextDecoder().decode(stdout), "started\n");
      }
    });
  },
});

Deno.test({
  name: "systemd: a reload does not end a gateway that starts; one that ends the shell before it is no clean end",
  ignore: Deno.build.os === "windows",
  async fn() {
    const unit = await Deno.readTextFile(UNIT);
    await withFolder(async (folder) => {
      const program = `${folder}/laneway`;
      await Deno.writeTextFile(program, "#!/bin/sh\nkill -HUP $$\necho survived\n", { mode: 0o755 });
      await Deno.writeTextFile(`${folder}/secret_HF_TOKEN`, "hf");
      const command = new Deno.Command("/bin/sh", {
        args: ["-euc", scriptOf(unit, program)],
        env: { CREDENTIALS_DIRECTORY: folder },
      });
      assertEquals(new TextDecoder().decode((await command.output()).stdout), "survived\n");
    });
    const [, restarting = ""] = /^RestartForceExitStatus=(.*)$/m.exec(unit) ?? [];
    assert(restarting.split(" ").includes("SIGHUP"), restarting);
  },
});

Deno.test({
  name: "systemd: a gateway that was started with SIGHUP ignored takes it once it listens",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const config = { ...SANDBOX, listen: { port: 0 } };
      await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
      const child = new Deno.Command("/bin/sh", {
        args: ["-euc", 'trap "" HUP; echo >&2 ignored; exec "$@"', "sh", Deno.execPath(), "run", "-A", MAIN],
        cwd: folder,
        env: { LANEWAY_CONFIG: "", NO_COLOR: "1" },
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const lines = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      const said = async (wanted: string) => {
        while (!text.includes(wanted)) {
          const { value, done } = await lines.read();
          if (done) throw new Error(`It never said "${wanted}": ${text}`);
          text += value;
        }
      };
      await said("ignored");
      child.kill("SIGHUP");
      await said("Keys: ");
      child.kill("SIGHUP");
      await said("The configuration has not changed");
      child.kill("SIGINT");
      await lines.cancel();
      assertEquals((await child.status).signal, null);
    });
  },
});
