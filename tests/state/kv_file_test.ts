import { assertEquals, assertRejects } from "@std/assert";
import { defaultStorePath } from "../../src/platform/store_path.ts";
import { isOnDeploy, openKvFile } from "../../src/state/kv_file.ts";
import { withFolder } from "./temp_folder.ts";

for (
  const [os, variables, path] of [
    ["linux", { HOME: "/home/ada" }, "/home/ada/.local/share/laneway/store.sqlite3"],
    ["linux", { HOME: "/home/ada", XDG_DATA_HOME: "/data" }, "/data/laneway/store.sqlite3"],
    ["linux", { XDG_DATA_HOME: "/data" }, "/data/laneway/store.sqlite3"],
    ["linux", { HOME: "/home/ada", XDG_DATA_HOME: "" }, "/home/ada/.local/share/laneway/store.sqlite3"],
    ["linux", { HOME: "/home/ada", XDG_DATA_HOME: "data" }, "/home/ada/.local/share/laneway/store.sqlite3"],
    ["linux", { HOME: "" }, undefined],
    ["linux", {}, undefined],
    [
      "darwin",
      { HOME: "/Users/ada", XDG_DATA_HOME: "/data" },
      "/Users/ada/Library/Application Support/laneway/store.sqlite3",
    ],
    ["darwin", {}, undefined],
    [
      "windows",
      { HOME: "/home/ada", LOCALAPPDATA: "C:\\Users\\ada\\AppData\\Local" },
      "C:\\Users\\ada\\AppData\\Local\\laneway\\store.sqlite3",
    ],
    ["windows", { HOME: "/home/ada" }, undefined],
  ] as const
) {
  Deno.test(`defaultStorePath: ${os} with ${JSON.stringify(variables)}`, () => {
    const env = new Map<string, string>(Object.entries(variables));
    assertEquals(defaultStorePath(os, (name) => env.get(name)), path);
  });
}

Deno.test("defaultStorePath: Node has a file of its own", () => {
  const env = (name: string) => name === "HOME" ? "/home/ada" : undefined;
  assertEquals(defaultStorePath("linux", env, "sqlite"), "/home/ada/.local/share/laneway/store-node.sqlite3");
});

Deno.test("isOnDeploy: where the platform says so", () => {
  assertEquals(isOnDeploy((name) => name === "DENO_DEPLOY" ? "true" : undefined), true);
  assertEquals(isOnDeploy(() => undefined), false);
});

/** The permissions of everything in the folder, which are none of Windows' concern. */
function modesIn(folder: string): Record<string, string> {
  const modes = [...Deno.readDirSync(folder)].map(({ name }) => [name, modeOf(`${folder}/${name}`)]);
  return Object.fromEntries(modes.sort());
}

function modeOf(path: string): string {
  return (Deno.statSync(path).mode! & 0o777).toString(8);
}

const PRIVATE = { "store.sqlite3": "600", "store.sqlite3-shm": "600", "store.sqlite3-wal": "600" };
const ignore = Deno.build.os === "windows";

Deno.test({
  name: "openKvFile: makes the folders and files so that only their owner can read them",
  ignore,
  fn: () =>
    withFolder(async (folder) => {
      using kv = await openKvFile(`${folder}/data/laneway/store.sqlite3`);
      await kv.set(["a"], 1);
      assertEquals([modeOf(`${folder}/data`), modeOf(`${folder}/data/laneway`)], ["700", "700"]);
      assertEquals(modesIn(`${folder}/data/laneway`), PRIVATE);
      using again = await openKvFile(`${folder}/data/laneway/store.sqlite3`);
      assertEquals((await again.get(["a"])).value, 1);
    }),
});

Deno.test({
  name: "openKvFile: closes files of before that others could read, and leaves their folder as it is",
  ignore,
  fn: () =>
    withFolder(async (folder) => {
      await Deno.chmod(folder, 0o755);
      using before = await Deno.openKv(`${folder}/store.sqlite3`);
      await before.set(["a"], 1);
      for (const name of Object.keys(PRIVATE)) await Deno.chmod(`${folder}/${name}`, 0o664);
      using after = await openKvFile(`${folder}/store.sqlite3`);
      assertEquals((await after.get(["a"])).value, 1);
      assertEquals(modesIn(folder), PRIVATE);
      assertEquals(modeOf(folder), "755");
    }),
});

Deno.test("openKvFile: a file that is no database is an error, and stays as it is", () =>
  withFolder(async (folder) => {
    const text = "Somebody else's notes. ".repeat(100);
    await Deno.writeTextFile(`${folder}/notes.txt`, text);
    await assertRejects(() => openKvFile(`${folder}/notes.txt`));
    assertEquals(await Deno.readTextFile(`${folder}/notes.txt`), text);
  }));
