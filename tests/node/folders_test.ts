import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { NODE_FOLDERS, tableOfFolders } from "./folders.ts";

const TESTS = new URL("../", import.meta.url);

function hasTests(path: string): boolean {
  if (path.endsWith("_test.ts")) return true;
  return Deno.statSync(new URL(path, TESTS)).isDirectory &&
    [...Deno.readDirSync(new URL(path, TESTS))].some(({ name }) => hasTests(`${path}/${name}`));
}

Deno.test("the tests on Node: the data names every folder that has tests, and no other", () => {
  const found = [...Deno.readDirSync(TESTS)].map(({ name }) => name).filter(hasTests);
  assertEquals(Object.keys(NODE_FOLDERS).sort(), found.sort());
});

Deno.test("the tests on Node: each exception names a file that is there, or a test in it", () => {
  for (const [name, folder] of Object.entries(NODE_FOLDERS)) {
    for (const which of Object.keys("none" in folder ? {} : folder.but ?? {})) {
      const [file, ...part] = which.split(": ");
      const path = name.endsWith(".ts") ? name : `${name}/${file}`;
      const text = Deno.readTextFileSync(new URL(path, TESTS));
      assert(text.includes(part.join(": ")), which);
    }
  }
});

Deno.test("the tests on Node: the table in CONTRIBUTING.md is that of the data", () => {
  assertStringIncludes(Deno.readTextFileSync(new URL("../CONTRIBUTING.md", TESTS)), tableOfFolders());
});
