/** The unit for systemd: judged by systemd's own tools, where this machine has them, and its command run by a shell. */
import { assert, assertEquals } from "@std/assert";
import { withFolder } from "../support/process.ts";

const UNIT = new URL("../../deploy/systemd/laneway.service", import.meta.url);
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

const version = await analyze("--version");
const why = version ? "" : " (skipped: systemd-analyze is not installed)";

Deno.test({
  name: `systemd: the unit is one, and may do little to its machine${why}`,
  ignore: version === undefined,
  async fn() {
    const { code, text: complaints } = (await analyze("verify", UNIT.pathname))!;
    assertEquals([code, complaints.split("\n").filter((line) => line.includes("laneway"))], [0, []]);
    const { text } = (await analyze("security", "--offline=true", UNIT.pathname))!;
    const [, level] = /Overall exposure level for laneway\.service: ([\d.]+)/.exec(text) ?? [];
    assert(Number(level) <= MOST_EXPOSURE, text);
  },
});

Deno.test({
  name: "systemd: each credential becomes the variable that it is named like, and the program takes the shell's place",
  ignore: Deno.build.os === "windows",
  async fn() {
    const [, start = ""] = /^ExecStart=(.*)$/m.exec(await Deno.readTextFile(UNIT)) ?? [];
    const [, script = ""] = /^\/bin\/sh -euc '(.*)'$/.exec(start) ?? [];
    await withFolder(async (folder) => {
      const program = `${folder}/laneway`;
      await Deno.writeTextFile(program, '#!/bin/sh\necho "$$" "$HF_TOKEN" "$TEAM_KEY" "$@"\n', { mode: 0o755 });
      await Deno.writeTextFile(`${folder}/secret_HF_TOKEN`, "hf $HOME 'quoted'\n");
      await Deno.writeTextFile(`${folder}/secret_TEAM_KEY`, "team");
      const command = script.replaceAll("$$", "$").replace("/usr/local/bin/laneway", program);
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
  name: "systemd: a gateway that a reload ends, because it cannot take one yet, is started again",
  ignore: Deno.build.os === "windows",
  async fn() {
    const main = new URL("../../src/main.ts", import.meta.url).href;
    const child = new Deno.Command(Deno.execPath(), { args: ["run", "--allow-all", main, "--version"], stdout: "null" })
      .spawn();
    child.kill("SIGHUP");
    const { signal } = await child.status;
    assert(["SIGHUP", null].includes(signal), `it ended by ${signal}`);
    const [, restarting = ""] = /^RestartForceExitStatus=(.*)$/m.exec(await Deno.readTextFile(UNIT)) ?? [];
    assert(restarting.split(" ").includes("SIGHUP"), restarting);
  },
});
