/** Writes the tables of the README's *Fidelity* section; with `--check` it only says whether they are current. */
import { renderTables } from "./table.ts";

const file = new URL("../../README.md", import.meta.url);
const BEGIN = "<!-- fidelity: written by `deno task fidelity` -->";
const END = "<!-- /fidelity -->";

const readme = Deno.readTextFileSync(file);
const begin = readme.indexOf(BEGIN);
const end = readme.indexOf(END);
if (begin < 0 || end < begin) throw new TypeError(`The README lacks "${BEGIN}" and "${END}"`);
const written = await formatted(
  `${readme.slice(0, begin + BEGIN.length)}\n\n${await renderTables()}\n\n${readme.slice(end)}`,
);

if (!Deno.args.includes("--check")) {
  Deno.writeTextFileSync(file, written);
} else if (readme !== written) {
  // deno-lint-ignore no-console -- this is a command line
  console.error('The fidelity table is stale: run "deno task fidelity" and commit README.md');
  Deno.exit(1);
}

/** As `deno fmt` wants it, which pads the columns. */
async function formatted(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "md", "-"],
    cwd: new URL("../..", import.meta.url),
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new TypeError("The README cannot be formatted");
  return new TextDecoder().decode(stdout);
}
