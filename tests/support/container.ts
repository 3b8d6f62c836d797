/**
 * The image of `deploy/Containerfile`, built from that very file without a network: what it is built upon is made of this machine's
 * own programs, under the name that the file asks for. It is unpacked, and runs as a container would: with its root read-only, a
 * user of its own and its own variables alone.
 */
import { arePackagesThere } from "../../src/cli/cached.ts";
import { printed } from "./programs.ts";

const ROOT = new URL("../../", import.meta.url);
/** The programs that the steps of the file call. */
const TOOLS = ["sh", "bash", "cp", "mkdir", "grep", "find", "ldd", "rm"];

/** The process that the image describes. */
export interface ImageProcess {
  args: string[];
  env: string[];
  cwd: string;
  user: { uid: number; gid: number };
}

export interface Image {
  /** Its files, unpacked. */
  rootfs: string;
  process: ImageProcess;
  /** Bytes of its files. */
  bytes: number;
}

/** Builds it in a folder, which the caller removes. */
export async function buildImage(folder: string): Promise<Image> {
  const store = ["--root", `${folder}/storage`, "--runroot", `${folder}/run`, "--storage-driver", "vfs"];
  const buildah = (...args: string[]) => printed("buildah", [...store, ...args], { cwd: ROOT });
  const base = await Deno.readTextFile(new URL("deploy/Containerfile", ROOT));
  const [, name = ""] = /^ARG DENO_IMAGE=(\S+)$/m.exec(base) ?? [];
  await makeBase(`${folder}/base`);
  const container = (await buildah("from", "scratch")).trim();
  await buildah("copy", "--quiet", container, `${folder}/base`, "/");
  // A step that asks a registry fails.
  await buildah("config", "--env", "PATH=/usr/bin:/bin", "--env", "HTTPS_PROXY=http://127.0.0.1:1", container);
  await buildah("commit", "--quiet", "--disable-compression", container, name);
  const options = ["--isolation", "chroot", "--network", "host", "--pull-never", "--disable-compression"];
  await buildah("bud", ...options, "-f", "deploy/Containerfile", "-t", "laneway", ".");
  await buildah("push", "--quiet", "-D", "laneway", `oci:${folder}/oci:laneway`);
  await printed("umoci", ["unpack", "--image", `${folder}/oci:laneway`, `${folder}/bundle`]);
  const rootfs = `${folder}/bundle/rootfs`;
  const { process } = JSON.parse(await Deno.readTextFile(`${folder}/bundle/config.json`));
  const sizes = (await printed("find", [rootfs, "-type", "f", "-printf", "%s\\n"])).trim().split("\n");
  const bytes = sizes.reduce((sum, size) => sum + Number(size), 0);
  // Every runtime makes these two.
  for (const name of ["proc", "dev"]) await Deno.mkdir(`${rootfs}/${name}`, { recursive: true });
  for (const path of [folder, `${folder}/bundle`]) await Deno.chmod(path, 0o755);
  return { rootfs, process, bytes };
}

/** A folder with what the file's steps call, what these are linked with, and the packages of this machine's cache. */
async function makeBase(folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/usr/bin`, { recursive: true });
  await Deno.mkdir(`${folder}/tmp`);
  await Deno.symlink("usr/bin", `${folder}/bin`);
  await Deno.copyFile(Deno.execPath(), `${folder}/usr/bin/deno`);
  await Deno.chmod(`${folder}/usr/bin/deno`, 0o755);
  const paths = (await printed("sh", ["-c", `command -v ${TOOLS.join("; command -v ")}`])).trim().split("\n");
  const linked = await printed("sh", ["-c", `ldd ${paths.join(" ")} ${Deno.execPath()}; true`]);
  const libraries = [...linked.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path]) => path!);
  const files = new Set([...paths, ...libraries]);
  await printed("cp", ["--parents", "-L", ...files, folder]);
  for (const entries of [["src/main.ts"], ["--config", "src/fetcher/documents/deno.json", "src/fetcher/main.ts"]]) {
    await printed(Deno.execPath(), ["cache", ...entries], { cwd: ROOT });
  }
  const { npmCache } = JSON.parse(await printed(Deno.execPath(), ["info", "--json"], { cwd: ROOT }));
  for (const path of ["deno.lock", "src/fetcher/documents/deno.lock"]) {
    const lock = JSON.parse(await Deno.readTextFile(new URL(path, ROOT)));
    if (!arePackagesThere(lock)) throw new Error("The packages are not in this machine's cache");
    for (const pin of Object.keys(lock.npm)) {
      // What stands beside it, after a line, is not part of its version.
      const [, name, version] = /^(.[^@]*)@([^_]+)/.exec(pin)!;
      const own = `registry.npmjs.org/${name}`;
      const target = `${folder}/image/app/packages/npm/${own}`;
      await Deno.mkdir(target, { recursive: true });
      await printed("cp", ["-r", `${npmCache}/${own}/${version}`, `${npmCache}/${own}/registry.json`, target]);
    }
  }
}

export interface RunOptions {
  env?: Record<string, string>;
  /** Files and folders of this machine, by where they are in the container; read-only but for the store. */
  mounts?: Record<string, string>;
}

/** Its command line, with arguments after the entry point; `program` stands in place of the entry point. */
export function inContainer({ rootfs, process }: Image, args: readonly string[], options: RunOptions): Deno.Command {
  const { uid, gid } = process.user;
  const env = [...process.env, ...Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`)];
  const mounts = Object.entries(options.mounts ?? {}).flatMap(([inside, path]) =>
    inside === "/var/lib/laneway" ? ["--bind", path, inside] : ["--ro-bind", path, inside]
  );
  const sandbox = ["--unshare-user", "--unshare-pid", "--as-pid-1", "--die-with-parent", "--ro-bind", rootfs, "/"];
  const variables = env.flatMap((variable) => {
    const at = variable.indexOf("=");
    return ["--setenv", variable.slice(0, at), variable.slice(at + 1)];
  });
  return new Deno.Command("setpriv", {
    args: [
      ...["--reuid", String(uid), "--regid", String(gid), "--clear-groups", "bwrap", ...sandbox],
      ...["--proc", "/proc", "--dev", "/dev", ...mounts, "--chdir", process.cwd, "--clearenv", ...variables],
      ...args,
    ],
    stdout: "piped",
    stderr: "piped",
  });
}
