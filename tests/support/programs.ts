/** Programs of the machine's own, which a test may need and not find. */

/** The programs that are missing on this machine. */
export function missingOf(...programs: readonly string[]): string[] {
  return programs.filter((program) => pathOf(program) === undefined);
}

/** Where a program is; those for administrators are often not on the path of others. */
export function pathOf(program: string): string | undefined {
  const folders = [...(Deno.env.get("PATH") ?? "").split(":"), "/usr/sbin", "/usr/local/go/bin"];
  return folders.map((folder) => `${folder}/${program}`).find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

/** Whether a test that needs these programs is skipped, and the reason to append to its name. */
export function needs(...programs: readonly string[]): { ignore: boolean; why: string } {
  const missing = Deno.build.os === "linux" ? missingOf(...programs) : ["Linux"];
  return { ignore: missing.length > 0, why: missing.length > 0 ? ` (skipped: ${missing.join(", ")} is not here)` : "" };
}

/** Runs a program to its end. Throws what it printed where it fails. */
export async function printed(
  program: string,
  args: readonly string[],
  options: Deno.CommandOptions = {},
): Promise<string> {
  const path = pathOf(program) ?? program;
  const { success, stdout, stderr } = await new Deno.Command(path, { ...options, args: [...args] }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`${program} ${args.join(" ")}\n${out}${err}`);
  return out!;
}
