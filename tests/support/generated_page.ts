/** A part of a document that a program writes, between two marks. */

export interface GeneratedPart {
  /** Below the repository's root. */
  path: string;
  /** The task that writes it. */
  task: string;
  render(): string | Promise<string>;
}

/** Writes the part. With `--check`, it only reports whether the document is current. */
export async function writePart({ path, task, render }: GeneratedPart): Promise<void> {
  const file = new URL(`../../${path}`, import.meta.url);
  const begin = `<!-- ${task}: written by \`deno task ${task}\` -->`;
  const end = `<!-- /${task} -->`;
  const page = Deno.readTextFileSync(file);
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new TypeError(`${path} lacks "${begin}" and "${end}"`);
  const written = await formatted(
    `${page.slice(0, from + begin.length)}\n\n${await render()}\n\n${page.slice(to)}`,
    path,
  );
  if (!Deno.args.includes("--check")) {
    Deno.writeTextFileSync(file, written);
  } else if (page !== written) {
    // deno-lint-ignore no-console -- this is a command line
    console.error(`${path} is stale: run "deno task ${task}" and commit it`);
    Deno.exit(1);
  }
}

/** As `deno fmt` wants it, which pads the columns. */
async function formatted(text: string, path: string): Promise<string> {
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
  if (!success) throw new TypeError(`${path} cannot be formatted`);
  return new TextDecoder().decode(stdout);
}
