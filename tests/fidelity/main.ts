/** Writes the tables of docs/fidelity.md; with `--check` it only says whether they are current. */
import { renderTables } from "./table.ts";

const file = new URL("../../docs/fidelity.md", import.meta.url);
const BEGIN = "<!-- fidelity: written by `deno task fidelity` -->";
const END = "<!-- /fidelity -->";

const page = Deno.readTextFileSync(file);
const begin = page.indexOf(BEGIN);
const end = page.indexOf(END);
if (begin < 0 || end < begin) throw new TypeError(`docs/fidelity.md lacks "${BEGIN}" and "${END}"`);
const written = await formatted(
  `${page.slice(0, begin + BEGIN.length)}\n\n${await renderTables()}\n\n${page.slice(end)}`,
);

if (!Deno.args.includes("--check")) {
  Deno.writeTextFileSync(file, written);
} else if (page !== written) {
  // deno-lint-ignore no-console -- this is a command line
  console.error('The fidelity table is stale: run "deno task fidelity" and commit docs/fidelity.md');
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
  if (!success) throw new TypeError("docs/fidelity.md cannot be formatted");
  return new TextDecoder().decode(stdout);
}
