/** Runs the programs of the documents as they stand there, in TypeScript and in Python. */
import { assert } from "@std/assert";
import { dirname } from "node:path";
import { type Block, ROOT } from "./documents.ts";

/** The names under which the tests have the packages. */
const PACKAGES: Record<string, string> = { "@anthropic-ai/sdk": "anthropic-sdk" };

const PYTHON = Deno.env.get("LANEWAY_PYTHON") ?? "python3";

/** The library that a program is about. */
export function libraryOf({ language, code }: Block): string {
  const [, name = ""] = language === "python"
    ? /^from (\S+) import/m.exec(code) ?? []
    : /from "([^"]+)"/.exec(code) ?? [];
  return name;
}

/** Why a program cannot run here, if it cannot. */
export function obstacleTo(block: Block): string | undefined {
  if (block.language !== "python") return undefined;
  const names = [...block.code.matchAll(/^from (\S+) import (\w+)/gm)].map(([line]) => line);
  try {
    const { success } = new Deno.Command(PYTHON, { args: ["-c", names.join("\n")], stdout: "null", stderr: "null" })
      .outputSync();
    return success ? undefined : `${PYTHON} lacks a package of "${names.join("; ")}"; LANEWAY_PYTHON names another`;
  } catch {
    return `there is no ${PYTHON}`;
  }
}

/** The code with the addresses of the gateways that run here in place of those in the text. */
function placed(code: string, urls: readonly string[]): string {
  return urls.reduce((text, url, at) => text.replaceAll(`http://127.0.0.1:${8000 + at}`, url), code);
}

async function outputOf(program: string, args: string[], block: Block, cwd: string, env = {}): Promise<string> {
  const PATH = `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`;
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd,
    env: { PATH, NO_COLOR: "1", NO_PROXY: "127.0.0.1", ...env },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, `${block.path}\n${block.code}\n${out}\n${err}`);
  return out!;
}

/** The output of the program, which must succeed, against the gateways at `urls`. */
export async function runProgram(
  block: Block,
  urls: readonly string[],
  folder: string,
  env?: Record<string, string>,
): Promise<string> {
  const code = placed(block.code, urls);
  const isPython = block.language === "python";
  const file = `${folder}/program.${isPython ? "py" : "ts"}`;
  const named = code.replace(/from "([^"]+)"/g, (all, name) => PACKAGES[name] ? `from "${PACKAGES[name]}"` : all);
  await Deno.writeTextFile(file, isPython ? code : named);
  if (isPython) return await outputOf(PYTHON, [file], block, folder, env);
  const config = new URL("tests/deno.json", ROOT).pathname;
  return await outputOf(
    Deno.execPath(),
    ["run", "--config", config, "--allow-all", "--no-check", file],
    block,
    folder,
    env,
  );
}

/** The output of the block's commands; the first that fails ends them. */
export async function runCommands(
  block: Block,
  urls: readonly string[],
  folder: string,
  env?: Record<string, string>,
): Promise<string> {
  const script = placed(block.code, urls).replaceAll("curl ", "curl -fsS ");
  return await outputOf("sh", ["-e", "-c", script], block, folder, env);
}
