/** Executables of the program for all systems, by `deno compile`. */
import manifest from "../../../deno.json" with { type: "json" };
import { COMPILE } from "../compile.ts";
import { type Kind, type Made, make, type Release } from "./kind.ts";

/** The targets of `deno compile`. */
export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
];

export const binaries: Kind = {
  name: "binaries",
  needs: "Deno's runtime for the target, which is downloaded unless the variable DENORT_BIN_<target> has its path",
  build,
};

/** The name of the executable. */
export function executableFor(target: string): string {
  return `laneway-${manifest.version}-${target}${target.includes("windows") ? ".exe" : ""}`;
}

async function build({ folder, targets, program }: Release): Promise<Made[]> {
  const made: Made[] = [];
  for (const target of targets) {
    made.push(await make(`the executable for ${target}`, async () => await compiled(target, folder, await program())));
  }
  return made;
}

async function compiled(target: string, folder: string, program: string): Promise<string> {
  const name = executableFor(target);
  const options = COMPILE.map((option) => option.replace(/^src\/(.*)\.ts$/, "$1.js"));
  const output = ["--no-check", "--target", target, "--output", `${folder}/${name}`];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["compile", ...options, ...output, "main.js"],
    cwd: program,
    env: runtimeFor(target),
    stdin: "null",
    stdout: "inherit",
  }).output();
  const said = new TextDecoder().decode(stderr);
  if (!success) throw new Error(reasonIn(said));
  await Deno.stderr.write(new TextEncoder().encode(said));
  return name;
}

/** Shells allow no hyphen in the name of a variable. */
function runtimeFor(target: string): Record<string, string> {
  const path = Deno.env.get(`DENORT_BIN_${target.replaceAll("-", "_")}`);
  return path === undefined ? {} : { DENORT_BIN: path };
}

/** The reason in the output of `deno compile`, where the first line says what it did and the second cause says what failed. */
function reasonIn(said: string): string {
  // deno-lint-ignore no-control-regex -- these are the colours of a terminal
  const lines = said.replace(/\x1b\[[\d;]*m/g, "").split("\n");
  const line = lines.find((line) => /^ +1: /.test(line)) ?? lines.find((line) => line.startsWith("error: "));
  return (line ?? lines[0]!).replace(/^ +1: |^error: /, "");
}
