/** Runs the programs of the documents as they stand there, in TypeScript and in Python. */
import { assert } from "@std/assert";
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

/** The output of the program, which must succeed, against the gateway at `url`. */
export async function runProgram(block: Block, url: string, folder: string): Promise<string> {
  const code = block.code.replaceAll("http://127.0.0.1:8000", url);
  const isPython = block.language === "python";
  const file = `${folder}/program.${isPython ? "py" : "ts"}`;
  await Deno.writeTextFile(
    file,
    isPython ? code : code.replace(/from "([^"]+)"/g, (all, name) => PACKAGES[name] ? `from "${PACKAGES[name]}"` : all),
  );
  const config = new URL("tests/deno.json", ROOT).pathname;
  const args = isPython ? [file] : ["run", "--config", config, "--allow-all", "--no-check", file];
  const { success, stdout, stderr } = await new Deno.Command(isPython ? PYTHON : Deno.execPath(), {
    args,
    cwd: folder,
    env: { NO_COLOR: "1", NO_PROXY: "127.0.0.1" },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, `${block.path}\n${code}\n${err}`);
  return out!;
}
