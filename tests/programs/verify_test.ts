/** The command `verify`: the program that runs, against the checksums and the statement of a release. */
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { digestsOf, sumsText } from "../../src/cli/release/digest.ts";
import { statementText } from "../../src/cli/release/provenance.ts";
import { deno } from "../../src/platform/deno.ts";
import { CommandError, UsageError } from "../../src/programs/program.ts";
import { readStatement, readSums } from "../../src/programs/verify/listed.ts";
import { verify } from "../../src/programs/verify/mod.ts";
import { NPM_FILES, STATEMENT, SUMS } from "../../src/programs/verify/names.ts";
import { withFolder } from "../support/process.ts";
import { streamsTo } from "../support/streams.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);
const EXECUTABLE = `laneway-${manifest.version}-x86_64-unknown-linux-gnu`;
const SOURCE = { commit: "c".repeat(40), epoch: 1, isModified: false };

/** Runs the command in this process, as the executable or as the package in the folder `program`. */
async function run(args: string[], as: { executable?: string; program?: string } = {}) {
  const lines: string[] = [];
  const streams = streamsTo((text) => lines.push(text));
  const platform = { ...deno, executable: as.executable, isTerminal: () => false };
  const folder = as.program === undefined ? undefined : `${as.program}/`;
  const code = await verify(args, { platform, plugins: {}, streams }, folder);
  return { code, lines };
}

interface Release {
  /** The folder with the sums and the statement. */
  release: string;
  /** The folder of the installed package. */
  program: string;
  executable: string;
}

/** A release of an executable and a package of three files, and both as they are installed. */
function withRelease(use: (at: Release) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const [release, program] = [`${folder}/release`, `${folder}/program`];
    await Deno.mkdir(release);
    await Deno.mkdir(`${program}/lib`, { recursive: true });
    await Deno.mkdir(`${program}/node_modules/other`, { recursive: true });
    const files = { "main.js": "main", "lib/part.js": "part", "README.md": "read" };
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${program}/${name}`, text);
    await Deno.writeTextFile(`${program}/node_modules/other/index.js`, "another package");
    await Deno.writeTextFile(`${release}/${NPM_FILES}`, sumsText(await digestsOf(program, Object.keys(files))));
    await Deno.writeTextFile(`${release}/${EXECUTABLE}`, "a program");
    await Deno.copyFile(`${release}/${EXECUTABLE}`, `${folder}/laneway`);
    const digests = await digestsOf(release, [EXECUTABLE, NPM_FILES]);
    await Deno.writeTextFile(`${release}/${SUMS}`, sumsText(digests));
    const statement = statementText({ source: SOURCE, digests, locks: {}, deno: "2.9.6" });
    await Deno.writeTextFile(`${release}/${STATEMENT}`, statement);
    await use({ release, program, executable: `${folder}/laneway` });
  });
}

const BY = `(by ${SUMS} and ${STATEMENT})`;

Deno.test("verify: an executable is recognized under another name, and a changed one is told", async () => {
  await withRelease(async ({ release, executable }) => {
    assertEquals(await run([release], { executable }), { code: 0, lines: [`ok: this program is ${EXECUTABLE} ${BY}`] });
    assertEquals((await run([`${release}/${STATEMENT}`], { executable })).code, 0);
    await Deno.writeTextFile(executable, "another program");
    const { code, lines } = await run([release], { executable });
    assertEquals([code, lines.length], [1, 1]);
    assertStringIncludes(lines[0]!, "differs: laneway is none of the release's files: its SHA-256 is ");
  });
});

Deno.test("verify: an executable of another version is not listed", async () => {
  await withRelease(async ({ release, executable }) => {
    await Deno.writeTextFile(`${release}/${SUMS}`, `${A}  laneway-9.9.9-x86_64-unknown-linux-gnu\n`);
    const { code, lines } = await run([`${release}/${SUMS}`], { executable });
    assertEquals([code, lines], [1, [
      `not listed: no executable of version ${manifest.version} is listed (by ${SUMS})`,
    ]]);
  });
});

Deno.test("verify: each file of a package is compared, and other packages are left alone", async () => {
  await withRelease(async ({ release, program }) => {
    const well = `ok: all 3 files of this program are those of version ${manifest.version} ${BY}`;
    assertEquals(await run([release], { program }), { code: 0, lines: [well] });
    await Deno.writeTextFile(`${program}/main.js`, "changed");
    await Deno.writeTextFile(`${program}/lib/more.js`, "more");
    await Deno.symlink(`${program}/main.js`, `${program}/lib/link.js`);
    await Deno.remove(`${program}/lib/part.js`);
    await Deno.remove(`${program}/README.md`);
    const { code, lines } = await run([release], { program });
    assertEquals(code, 1);
    assertEquals(lines.slice(0, -1).toSorted(), [
      "differs     main.js",
      "missing     lib/part.js",
      "not listed  lib/link.js",
      "not listed  lib/more.js",
    ]);
    const json = JSON.parse((await run([release, "--json"], { program })).lines[0]!);
    assertEquals([json.ok, json.result, json.differences.length], [false, "differs", 4]);
  });
});

Deno.test("verify: a list that is not the release's own counts for nothing", async () => {
  await withRelease(async ({ release, program }) => {
    await Deno.writeTextFile(`${program}/main.js`, "changed");
    const forged = sumsText(await digestsOf(program, ["main.js", "lib/part.js", "README.md"]));
    await Deno.writeTextFile(`${release}/${NPM_FILES}`, forged);
    assertEquals(await run([release], { program }), {
      code: 1,
      lines: [`differs: ${NPM_FILES} is not the one of the release ${BY}`],
    });
    await Deno.remove(`${release}/${NPM_FILES}`);
    await assertRejects(() => run([release], { program }), CommandError, "has to be beside the sums");
  });
});

Deno.test("verify: sums and a statement that contradict each other are a failure", async () => {
  await withRelease(async ({ release, executable }) => {
    await Deno.writeTextFile(`${release}/${SUMS}`, `${A}  ${EXECUTABLE}\n`);
    await assertRejects(() => run([release], { executable }), CommandError, `"${EXECUTABLE}" has another checksum in`);
  });
});

Deno.test("verify: it says what it cannot read, and a clone is none of a release's files", async () => {
  await withRelease(async ({ release, executable }) => {
    await assertRejects(() => run([]), UsageError, "Name a release's folder");
    await assertRejects(() => run([`${release}/none`]), CommandError, "there is no such file");
    await assertRejects(
      () => run([executable.replace(/laneway$/, "program/lib")]),
      CommandError,
      "has neither SHA256SUMS",
    );
    const { code, lines } = await run([release]);
    assertEquals([code, lines[0]!.slice(0, 35)], [1, "not listed: this runs from a clone,"]);
    await Deno.writeTextFile(`${release}/list.intoto.json`, "[]");
    await assertRejects(
      () => run([release], { executable }),
      CommandError,
      "list.intoto.json: it is not a JSON object",
    );
    const large = `${release}/large.txt`;
    await Deno.writeTextFile(large, "");
    await Deno.truncate(large, 3_000_000_000);
    await assertRejects(() => run([large], { executable }), CommandError, "is too long");
    if (Deno.build.os !== "windows") await assertRejects(() => run(["/dev/zero"]), CommandError, "is not a file");
  });
});

Deno.test("verify: sums are read as sha256sum and other systems write them", () => {
  const text = `\ufeff${A}  one\r\n${B.toUpperCase()} *dir/two words\r\n\r\n${A}  ./three\n`;
  assertEquals([...readSums(text, "s")], [["one", A], ["dir/two words", B], ["three", A]]);
});

for (
  const [what, text, reason] of [
    ["a name above the folder", `${A}  ../../etc/passwd`, "leads out of the folder"],
    ["a name from the root", `${A}  /etc/passwd`, "leads out of the folder"],
    ["a name of Windows above the folder", `${A}  ..\\x`, "leads out of the folder"],
    ["a drive", `${A}  C:x`, "leads out of the folder"],
    ["a name that clears the terminal", `${A}  a\x1b[2J`, "leads out of the folder"],
    ["two checksums of one name", `${A}  x\n${B}  x`, 's, line 2: "x" has two checksums'],
    ["half a checksum", `${A}  x\n${A.slice(1)}  y`, "s, line 2: it is no checksum and name"],
    ["no name", `${A}  `, "s, line 1: it is no checksum and name"],
    ["another text", "<html>", "s, line 1: it is no checksum and name"],
  ] as const
) {
  Deno.test(`verify: sums with ${what} are refused`, () => {
    assertThrows(() => readSums(text, "s"), CommandError, reason);
  });
}

const statement = (subject: unknown) => ({ _type: "https://in-toto.io/Statement/v1", subject });
const SUBJECT = [{ name: "one", digest: { sha256: A } }];
const encoded = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).toBase64();

for (
  const [what, value] of [
    ["bare", statement(SUBJECT)],
    ["in an envelope", {
      payloadType: "application/vnd.in-toto+json",
      payload: encoded(statement(SUBJECT)),
      signatures: [],
    }],
    ["in a bundle", { mediaType: "x", dsseEnvelope: { payload: encoded(statement(SUBJECT)) } }],
  ] as const
) {
  Deno.test(`verify: a statement is read ${what}`, () => {
    assertEquals([...readStatement(JSON.stringify(value), "s.json")], [["one", A]]);
    assertEquals([...readStatement(`${JSON.stringify(value)}\n{"other": 1}\n`, "s.jsonl")], [["one", A]]);
  });
}

for (
  const [what, text, reason] of [
    ["no JSON", "{", "s: it is not a JSON object"],
    ["a list", "[]", "s: it is not a JSON object"],
    ["another object", "{}", "s: it is no in-toto statement"],
    ["a payload that is no base64", '{"payload": "?"}', "s: its payload is not in base64"],
    ["a payload that is no JSON", '{"payload": "AAAA"}', "s: it is not a JSON object"],
    ["subjects that are no list", JSON.stringify(statement({})), "s: it is no in-toto statement"],
    ["a subject that is null", JSON.stringify(statement([null])), "s, subject 1: it has no name with a SHA-256"],
    ["another digest", JSON.stringify(statement([{ name: "x", digest: { md5: A } }])), "s, subject 1: it has no name"],
    [
      "a name above the folder",
      JSON.stringify(statement([{ ...SUBJECT[0], name: "../x" }])),
      "leads out of the folder",
    ],
    [
      "a name that is no text",
      JSON.stringify(statement([{ ...SUBJECT[0], name: {} }])),
      "s, subject 1: it has no name",
    ],
  ] as const
) {
  Deno.test(`verify: a statement with ${what} is refused`, () => {
    assertThrows(() => readStatement(text, "s"), CommandError, reason);
  });
}
