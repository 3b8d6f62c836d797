/** Without a network, each form of the program starts, and serves a model server on the same machine. */
import { assert, assertEquals } from "@std/assert";
import { buildNpmPackage } from "../../src/cli/release/npm.ts";
import { writeProgram } from "../../src/cli/release/program.ts";
import { withFolder } from "../support/process.ts";
import { install, NODE } from "./install.ts";
import type { OfflineResult } from "./offline.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const DRIVER = new URL("offline.ts", import.meta.url).pathname;

/** Begins a command line whose program reaches its own machine alone. Which of them works depends on the user. */
const NAMESPACES = [["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]];
const UP = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"];

interface Output {
  code: number;
  stdout: string;
  stderr: string;
}

async function output(program: string, args: string[], options: Deno.CommandOptions = {}): Promise<Output> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args, stdin: "null", ...options }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

async function findNamespace(): Promise<{ command: string[] } | { reason: string }> {
  let reason = "";
  for (const [program, ...args] of NAMESPACES) {
    try {
      const { code, stderr } = await output(program!, [...args, ...UP, "true"]);
      if (code === 0) return { command: [program!, ...args, ...UP] };
      reason = stderr.trim();
    } catch (error) {
      reason = (error as Error).message;
    }
  }
  return { reason: `no network namespace can be made: ${reason}` };
}

const namespace = await findNamespace();
const installed = await install(NODE, "node");

/** Calls `start` for a command line in an empty folder, and checks that what it starts serves without a network. */
async function servesOffline(start: (folder: string) => Promise<{ program: string; args: string[]; path?: string }>) {
  if ("reason" in namespace) return;
  const [unshare, ...args] = namespace.command;
  await withFolder(async (folder) => {
    const { program, args: own, path = Deno.env.get("PATH")! } = await start(folder);
    const driver = [Deno.execPath(), "run", "--allow-all", "--no-check", "--cached-only", DRIVER];
    const { stdout, stderr } = await output(unshare!, [...args, ...driver, program, ...own], {
      cwd: folder,
      env: { XDG_DATA_HOME: folder, LANEWAY_CONFIG: "", HF_TOKEN: "", NO_COLOR: "1", PATH: path },
    });
    assert(stdout, stderr);
    const result: OfflineResult = JSON.parse(stdout);
    assertEquals(result, { isOnline: false, answer: "from this machine" });
  });
}

function offline(name: string, missing: string | undefined, fn: () => Promise<void>): void {
  const reason = "reason" in namespace ? namespace.reason : missing;
  Deno.test({
    name: `offline: ${name}${reason === undefined ? "" : ` (skipped: ${reason})`}`,
    ignore: reason !== undefined,
    fn,
  });
}

offline("a clone serves", undefined, () =>
  servesOffline((folder) => {
    const args = ["task", "--quiet", "--config", `${ROOT}deno.json`, "start"];
    return Promise.resolve({
      program: Deno.execPath(),
      args: [...args, "--port", "0", "--config", `${folder}/gateway.json`],
    });
  }));

offline(
  "the package serves on Node",
  "reason" in installed ? installed.reason : undefined,
  () =>
    servesOffline(async (folder) => {
      assert("program" in installed);
      const name = await buildNpmPackage(folder);
      const installing = [
        "install",
        "--prefer-offline",
        "--no-audit",
        "--no-fund",
        "--prefix",
        folder,
        `${folder}/${name}`,
      ];
      const { code, stderr } = await output("npm", installing);
      assertEquals(code, 0, stderr);
      await Deno.mkdir(`${folder}/bin`);
      await Deno.symlink(await Deno.realPath(installed.program), `${folder}/bin/node`);
      const path = `${folder}/bin:/usr/bin:/bin`;
      return { program: `${folder}/node_modules/.bin/laneway`, args: ["start", "--port", "0"], path };
    }),
);

offline(
  "the program of the image and of the package for Debian serves",
  undefined,
  () =>
    servesOffline(async (folder) => {
      await writeProgram(`${folder}/program`);
      const permissions = ["--allow-read", "--allow-env", "--allow-run", "--allow-net=127.0.0.1:0", "--no-prompt"];
      const args = ["run", ...permissions, `${folder}/program/launch.js`, "--port", "0"];
      // Nothing was downloaded before.
      return { program: "env", args: [`DENO_DIR=${folder}/deno`, Deno.execPath(), ...args] };
    }),
);

/** An executable needs Deno's runtime, which no registry has. */
const executable = Deno.env.get("LANEWAY_EXECUTABLE");
const noExecutable = executable === undefined ? "LANEWAY_EXECUTABLE names no executable of a release" : undefined;

offline(
  "an executable serves",
  noExecutable,
  () => servesOffline(() => Promise.resolve({ program: executable!, args: ["--port", "0"] })),
);
