import { assert, assertEquals } from "@std/assert";
import { COMPILE } from "../../src/cli/compile.ts";

const ROOT = new URL("../../", import.meta.url);

function* sources(folder: string): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(folder, ROOT))) {
    if (entry.isDirectory) yield* sources(`${folder}${entry.name}/`);
    else if (entry.name.endsWith(".ts")) yield `${folder}${entry.name}`;
  }
}

/** The fetcher and the interpreter are programs of their own, which no binary contains. */
const paths = [...sources("src/"), ...sources("plugins/")].filter((path) =>
  !/^src\/(fetcher|interpreter)\//.test(path)
);
const files = paths.map((path) => ({
  path,
  text: Deno.readTextFileSync(new URL(path, ROOT)),
}));

Deno.test("every worker is named by a literal, and stands in what `deno compile` is told to include", () => {
  const workers = files.flatMap(({ path, text }) =>
    [...text.matchAll(/new Worker\(\s*(.*)/g)].map(([, argument]) => ({ path, argument: argument! }))
  );
  assert(workers.length > 0, "No worker was found");
  for (const { path, argument } of workers) {
    const [, literal] = /^new URL\("(\.[^"]+)", import\.meta\.url\)/.exec(argument) ?? [];
    assert(literal, `${path}: new Worker(${argument}`);
    const included = new URL(literal!, `file:///${path}`).pathname.slice(1);
    assert(COMPILE.join(" ").includes(`--include ${included}`), `${included} is not included`);
  }
});

Deno.test("templates and vocabularies are read in the worker alone", () => {
  const users = files.filter(({ text }) => /from "(jinja|tokenizers)"/.test(text)).map(({ path }) => path);
  assertEquals(users, ["src/tokens/worker.ts"]);
  const importers = files.filter(({ text }) => /^import (?!type).*"[^"]*worker\.ts"/m.test(text));
  assertEquals(importers, []);
});
