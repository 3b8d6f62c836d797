/**
 * The image and the package for Debian, made as for a release: the image starts from its unpacked layers, and `dpkg` installs,
 * upgrades and removes the package in a root of its own.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { buildDeb } from "../../src/cli/release/deb.ts";
import { filesBelow } from "../../src/cli/release/files.ts";
import { type Architecture, ARCHITECTURES, denoFor, librariesFor } from "../../src/cli/release/runtime.ts";
import { writeProgram } from "../../src/cli/release/program.ts";
import { withFolder } from "../support/process.ts";
import { needs, printed } from "../support/programs.ts";
import { serving } from "../support/serving.ts";

const ROOT = new URL("../../", import.meta.url);
const ARCHITECTURE: Architecture = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;

/** Why the test is skipped, or nothing. */
function reasonFor(...programs: readonly string[]): string {
  const { ignore, why } = needs(...programs);
  return ignore ? why : isRoot ? "" : " (skipped: only root may change its root folder)";
}

/** Why there is no runtime here. Registries may be out of reach, and mirrors drop old versions. */
async function missingRuntime(
  architectures: readonly Architecture[],
  ...sources: ((architecture: Architecture) => Promise<unknown>)[]
): Promise<string> {
  try {
    for (const source of sources) for (const architecture of architectures) await source(architecture);
    return "";
  } catch (error) {
    return ` (skipped: ${(error as Error).message.trim().split("\n")[0]})`;
  }
}

async function release(folder: string, ...kinds: string[]): Promise<string> {
  await printed(Deno.execPath(), ["task", "release", "--out", folder, ...kinds], { cwd: ROOT });
  return await Deno.readTextFile(`${folder}/SHA256SUMS`);
}

async function checkHealth(url: string): Promise<void> {
  const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(60_000) });
  assertEquals(response.status, 200, await response.text());
}

/** Asks for a response, which is stored. Returns its text. */
async function ask(url: string): Promise<string> {
  const headers = { "content-type": "application/json", authorization: "Bearer a-key-for-this-test" };
  const body = JSON.stringify({ model: "sandbox", input: "Hello" });
  const signal = AbortSignal.timeout(60_000);
  const response = await fetch(`${url}/oss/v1/responses`, { method: "POST", headers, body, signal });
  return JSON.stringify((await response.json()).output);
}

const denoReason = reasonFor("npm") || await missingRuntime([ARCHITECTURE], denoFor);
const imageReason = reasonFor("dpkg-deb", "unshare", "chroot", "tar") || denoReason ||
  await missingRuntime(ARCHITECTURES, denoFor, librariesFor);

Deno.test({
  name: `image: it is the same each time, and serves from its layers as a user without rights${imageReason}`,
  ignore: imageReason !== "",
  async fn() {
    await withFolder(async (folder) => {
      const sums = await release(`${folder}/one`, "--image");
      assertEquals(await release(`${folder}/two`, "--image"), sums);
      const { root, config } = await unpacked(`${folder}/one/laneway-${manifest.version}-image.tar`, folder);
      const { User, Env, Entrypoint, Healthcheck } = config;
      assertMatch(User, /^[1-9]\d*:[1-9]\d*$/);
      assertEquals(Healthcheck.Test, ["CMD", ...Entrypoint, "health"]);
      const environment = Object.fromEntries(Env.map((line: string) => line.split(/=(.*)/s).slice(0, 2)));
      const inside = (args: string[], port: string) => ({
        args: [
          ...["--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$@"', root],
          ...[`--userspec=${User}`, root, ...Entrypoint, ...args, "--port", port],
        ],
        clearEnv: true,
        env: { ...environment, PATH: Deno.env.get("PATH")!, LANEWAY_KEY: "a-key-for-this-test" },
      });
      await serving("unshare", inside(["--hostname", "127.0.0.1"], "0"), async (url) => {
        assertStringIncludes(await ask(url), "Hello");
        await checkHealth(url);
        const health = await new Deno.Command("unshare", inside(["health"], new URL(url).port)).output();
        assertEquals(health.code, 0, new TextDecoder().decode(health.stderr));
        assert((await Deno.stat(`${root}/var/lib/laneway`)).uid === Number(User.split(":")[0]));
        const stored = [...Deno.readDirSync(`${root}/var/lib/laneway`)].map(({ name }) => name);
        assert(stored.some((name) => name.endsWith(".sqlite3")), stored.join());
      });
    });
  },
});

/** Puts the layers of the image for this machine on each other. */
async function unpacked(image: string, folder: string) {
  const [layout, root] = [`${folder}/layout`, `${folder}/root`];
  for (const path of [layout, root]) await Deno.mkdir(path);
  await printed("tar", ["-xf", image, "-C", layout]);
  const pathTo = ({ digest }: { digest: string }) => `${layout}/blobs/${digest.replace(":", "/")}`;
  const read = async (path: string) => JSON.parse(await Deno.readTextFile(path));
  const { manifests: [index] } = await read(`${layout}/index.json`);
  const { manifests } = await read(pathTo(index));
  assertEquals(
    manifests.map(({ platform: { architecture } }: { platform: { architecture: string } }) => architecture),
    ["amd64", "arm64"],
  );
  const own = manifests.find((one: { platform: { architecture: string } }) =>
    one.platform.architecture === ARCHITECTURE
  );
  const { layers, config } = await read(pathTo(own));
  for (const layer of layers) await printed("tar", ["-xzpf", pathTo(layer), "-C", root]);
  await Deno.mkdir(`${root}/proc`, { recursive: true });
  return { root, config: (await read(pathTo(config))).config };
}

const debReason = reasonFor("dpkg", "systemd-sysusers", "systemctl") || denoReason;

Deno.test({
  name: `package for Debian: dpkg installs, upgrades, removes and purges it, and its service serves${debReason}`,
  ignore: debReason !== "",
  async fn() {
    await withFolder(async (folder) => {
      const program = `${folder}/program`;
      await writeProgram(program);
      const build = async (version: string) =>
        `${folder}/${await buildDeb({ folder, program: () => Promise.resolve(program) }, ARCHITECTURE, version)}`;
      const [old, next] = [await build("0.0.9"), await build("0.1.0")];
      const bytes = await Deno.readFile(next);
      await build("0.1.0");
      assertEquals(bytes, await Deno.readFile(next), "it is not the same each time");

      const root = `${folder}/root`;
      const before = await emptyRoot(root);
      const forced = ["--force-script-chrootless", "--force-depends", `--log=${folder}/log`];
      const dpkg = (...args: string[]) => printed("dpkg", [`--root=${root}`, ...forced, ...args]);
      await dpkg("--install", old);
      assertMatch(await Deno.readTextFile(`${root}/etc/passwd`), /^laneway:x:\d+:\d+:[^\n]*\/nologin$/m);
      assertEquals((await Deno.stat(`${root}/etc/laneway/secrets`)).mode! & 0o777, 0o700);
      const enabled = `${root}/etc/systemd/system/multi-user.target.wants/laneway.service`;
      assert((await Deno.lstat(enabled)).isSymlink);
      assertEquals(await printed("dpkg", [`--root=${root}`, "--verify", "laneway"]), "");

      const config = `${root}/etc/laneway/gateway.json`;
      const own = JSON.stringify({ extends: "default", listen: { port: 0 } });
      await Deno.writeTextFile(config, own);
      await serving("/bin/sh", await service(root), async (url) => assertStringIncludes(await ask(url), "Hello"));
      await Deno.writeTextFile(`${root}/laneway`, moved(await Deno.readTextFile(`${root}/usr/bin/laneway`), root));
      const help = await printed("sh", [`${root}/laneway`, "keys", "--help"], { env: { HOME: folder } });
      assertStringIncludes(help, "Usage: laneway keys");
      await Deno.remove(`${root}/laneway`);
      await dpkg("--install", next);
      assertEquals(await Deno.readTextFile(config), own);
      assertStringIncludes(await printed("dpkg", [`--root=${root}`, "--status", "laneway"]), "\nVersion: 0.1.0\n");
      await serving("/bin/sh", await service(root), checkHealth);
      assert((await Deno.stat(`${root}/var/lib/laneway/store.sqlite3`)).isFile);

      await dpkg("--remove", "laneway");
      assertEquals(await Deno.readTextFile(config), own);
      assertEquals(filesIn(root).filter((path) => path.startsWith("usr/")), []);
      await dpkg("--install", next);
      assert((await Deno.lstat(enabled)).isSymlink);
      await dpkg("--remove", "laneway");
      await dpkg("--purge", "laneway");
      assertEquals(filesIn(root), before);
      for (const name of ["passwd", "group", "shadow", "gshadow"]) {
        assertEquals(await Deno.readTextFile(`${root}/etc/${name}`), "", name);
      }
    });
  },
});

/** A root folder with what every machine has. Returns the files in it. */
async function emptyRoot(root: string): Promise<string[]> {
  for (const path of ["etc/systemd/system", "var/lib/dpkg/info", "var/lib/dpkg/updates"]) {
    await Deno.mkdir(`${root}/${path}`, { recursive: true });
  }
  const files = ["passwd", "group", "shadow", "gshadow"].map((name) => `etc/${name}`);
  for (const path of [...files, "var/lib/dpkg/status"]) await Deno.writeTextFile(`${root}/${path}`, "");
  return filesIn(root);
}

/** All files but dpkg's own, and the copies and locks of the tools that write users. */
function filesIn(root: string): string[] {
  return [...filesBelow(root)].map((path) => path.slice(root.length + 1))
    .filter((path) => !/^var\/lib\/dpkg\/|^etc\/(\w+-|\.pwd\.lock)$/.test(path)).sort();
}

/** A script of the package with the folders of the root in place of the machine's. */
function moved(script: string, root: string): string {
  return script.replaceAll(/(?<=[ =])\/(usr\/lib\/laneway|etc\/laneway)/g, `${root}/$1`);
}

/** How the installed unit starts its shell, with the folders of the root in place of the machine's. */
async function service(root: string): Promise<Deno.CommandOptions> {
  const unit = await Deno.readTextFile(`${root}/usr/lib/systemd/system/laneway.service`);
  const [, script = ""] = /^ExecStart=\/bin\/sh -euc '(.*)'$/m.exec(unit) ?? [];
  const serve = `${root}/usr/lib/laneway/serve`;
  await Deno.writeTextFile(serve, moved(await Deno.readTextFile(serve), root));
  return {
    args: ["-euc", moved(script.replaceAll("$$", "$"), root)],
    cwd: root,
    clearEnv: true,
    env: {
      PATH: "/usr/bin:/bin",
      XDG_DATA_HOME: `${root}/var/lib`,
      DENO_DIR: `${root}/var/cache/laneway`,
      NO_COLOR: "1",
    },
  };
}
