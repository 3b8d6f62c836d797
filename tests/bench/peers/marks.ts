/** Writes what was measured between two marks of a page. */

const [BEGIN, END] = ["<!-- measured: begin -->", "<!-- measured: end -->"];

export async function writeBetweenMarks(file: URL, content: string): Promise<void> {
  const text = await Deno.readTextFile(file);
  const [before, after] = [text.split(BEGIN)[0], text.split(END)[1]];
  if (after === undefined) throw new Error(`${file.pathname} has no "${BEGIN}" and "${END}"`);
  await Deno.writeTextFile(file, `${before}${BEGIN}\n\n${content}\n\n${END}${after}`);
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", file.pathname] }).output();
}
