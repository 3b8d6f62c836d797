/**
 * What one request runs, against golden files: the diff of a change shows what it puts in everybody's way. Counts, not times, so
 * neither the machine nor its load matters.
 */
import { assertEquals } from "@std/assert";
import { LIMITS, METERED } from "./limits.ts";
import { beyond, type Counts, countsOf, linesOf, measurePaths, type Names, namesOf, readLines } from "./paths.ts";
import type { Name } from "./requests.ts";

const GOLDEN = new URL("./golden/", import.meta.url);
const UPDATE = Deno.env.get("LANEWAY_UPDATE_GOLDEN") === "1";
const ADVICE = "If it must be so, run `deno task test:update` and read the diff";

const paths = await measurePaths();
const [whole, stream, metered] = (["whole chat", "stream messages", "metered chat"] as const).map((name) =>
  namesOf(paths[name])
) as [Names, Names, Names];

Deno.test("path: a plain whole request runs what it ran", () =>
  compare("whole.txt", whole, "every plain whole request"));

Deno.test("path: a plain streamed request runs what it ran", () =>
  compare("stream.txt", stream, "every plain streamed request"));

Deno.test("path: a key, a budget, a price and a secret add to a whole request what they added", () => {
  const [more, less] = [beyond(metered, whole), beyond(whole, metered)];
  const lines = [...linesOf(more).map((line) => MORE + line), ...linesOf(less).map((line) => LESS + line)];
  const before = goldenOf("metered.txt", lines);
  const marked = (mark: string) =>
    readLines(before.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length)));
  const now = "requests of a gateway with a key, a budget, a price and a secret";
  assertSame([
    ...changes(more, marked(MORE), `for ${now} alone`),
    ...changes(less, marked(LESS), `for plain requests alone, and not for ${now}`),
  ]);
});

Deno.test("path: what they add is in files that have to do with them", () => {
  const places = Object.values(METERED).flat();
  const others = [...beyond(metered, whole)].filter(([file]) => !places.some((place) => file.startsWith(place)));
  assertEquals(linesOf(new Map(others)), [], "These have to do with neither keys, budgets, prices nor secrets");
});

for (const [name, limits] of Object.entries(LIMITS)) {
  Deno.test(`path: the counts of "${name}" are within their limits`, () => {
    const counts = countsOf(paths, name as Name);
    const over = (Object.entries(limits) as [keyof Counts, number][]).filter(([of, limit]) => counts[of] > limit);
    assertEquals(over.map(([of, limit]) => `${of}: ${counts[of]}, limit ${limit}`), [], "See tests/path/limits.ts");
  });
}

const [MORE, LESS] = ["+ ", "- "];

function compare(file: string, now: Names, who: string): void {
  assertSame(changes(now, readLines(goldenOf(file, linesOf(now))), `by ${who}`));
}

/** The lines of a golden file, once it is written where that is wanted. */
function goldenOf(file: string, lines: readonly string[]): string[] {
  const url = new URL(file, GOLDEN);
  if (UPDATE) Deno.writeTextFileSync(url, lines.map((line) => `${line}\n`).join(""));
  return Deno.readTextFileSync(url).split("\n").filter((line) => line !== "");
}

/** What is called now and was not before, and the other way round, in words. */
function changes(now: Names, before: Names, by: string): string[] {
  const said = (names: Names, verb: string) =>
    [...names].flatMap(([file, inFile]) =>
      [...inFile].map(([name, count]) => {
        const all = now.get(file)?.get(name) ?? 0;
        // Where others of that name stay, only their number says which is meant.
        const which = count === 1 && all <= 1 ? name : `${name} (${count} of that name)`;
        return `${file}: ${which} is ${verb} called ${by}`;
      })
    );
  return [...said(beyond(now, before), "now"), ...said(beyond(before, now), "no longer")];
}

function assertSame(changed: readonly string[]): void {
  if (changed.length > 0) throw new Error(`${changed.join("\n")}\n${ADVICE}`);
}
