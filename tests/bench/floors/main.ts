/**
 * `deno task bench:floors [part of a name ...]`: what the platform itself costs. Each file of this folder is one experiment of
 * about twenty lines that prints its numbers: where Laneway cannot be faster than it is, one of them shows why. They are
 * programs; this runs all of them in turn, or those that are named.
 */
const folder = new URL("./", import.meta.url);
const files = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
  /\.ts$/.test(name) && name !== "main.ts"
);
const wanted = files.sort().filter((file) => Deno.args.length === 0 || Deno.args.some((part) => file.includes(part)));

for (const file of wanted) {
  Deno.stdout.writeSync(new TextEncoder().encode(`\n${file}\n`));
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const args = ["run", "--quiet", "--config", config, "--allow-all", new URL(file, folder).pathname];
  const { code } = await new Deno.Command(Deno.execPath(), { args }).spawn().status;
  if (code !== 0) Deno.exit(code);
}
