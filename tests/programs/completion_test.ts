/** The scripts that complete commands, in the shells themselves. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { bash } from "../../src/programs/completion/bash.ts";
import { fish } from "../../src/programs/completion/fish.ts";
import { completed } from "../../src/programs/completion/mod.ts";
import { zsh } from "../../src/programs/completion/zsh.ts";
import { withFolder } from "../support/process.ts";

const ALL = completed({ providers: ["groq"] });

/** The words of a command line up to the one that is completed, and some of what a shell offers. */
const CASES: [words: string[], offered: string[], not: string[]][] = [
  [["laneway", "ke"], ["keys"], ["usage"]],
  [["laneway", "keys", ""], ["create", "list", "rotate", "revoke"], ["usage"]],
  [["laneway", "keys", "create", "--bu"], ["--budget"], ["--keep"]],
  [["laneway", "--config", "keys", "us"], ["usage"], ["create"]],
  [["laneway", "usage", "--by", ""], ["key", "model", "day"], ["--csv"]],
  [["laneway", "connect", "claude"], ["claude-code"], ["codex"]],
  [["laneway", "check", "--wire", "mes"], ["messages"], ["chat"]],
  [["laneway", "completion", ""], ["bash", "zsh", "fish"], ["keys"]],
  [["laneway", "validate", "gate"], ["gateway.json"], ["other.json"]],
];

/** The words that a shell prints, one a line. Absent if the shell is not installed. */
async function offeredBy(shell: string, args: string[], script: string, cwd: string): Promise<string[] | undefined> {
  try {
    const { stdout, stderr } = await new Deno.Command(shell, { args: [...args, script], cwd }).output();
    assertEquals(new TextDecoder().decode(stderr), "");
    return new TextDecoder().decode(stdout).split("\n").map((line) => line.trim()).filter((line) => line !== "");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const inSingle = (text: string) => `'${text}'`;

/** Runs the function with the words that bash would give it, then what bash does where nothing is offered. */
const inBash = (words: string[]) =>
  `${bash(ALL)}
COMP_WORDS=(${words.map(inSingle).join(" ")}); COMP_CWORD=${words.length - 1}
_laneway
[ \${#COMPREPLY[@]} = 0 ] && COMPREPLY=($(compgen -f -- ${inSingle(words.at(-1)!)}))
printf '%s\\n' "\${COMPREPLY[@]}"`;

/** The editor of zsh offers nothing without a terminal, so these functions print what it would be given. */
const inZsh = (words: string[]) =>
  `compdef() { }
_files() { print -l -- "\${words[CURRENT]}"*(N) }
_describe() { local one; for one in "\${(@P)2}"; do compadd -- "\${one%%:*}"; done }
compadd() { shift; local one; for one; do [[ "$one" == "\${words[CURRENT]}"* ]] && print -r -- "$one"; done; return 0 }
${zsh(ALL)}
words=(${words.map(inSingle).join(" ")}); CURRENT=${words.length}
_laneway`;

const inFish = (words: string[]) =>
  `${fish(ALL)}
complete -C ${inSingle(words.join(" "))} | string replace -r '\\t.*' ''`;

const SHELLS: [name: string, args: string[], script: (words: string[]) => string][] = [
  ["bash", ["--norc", "-c"], inBash],
  ["zsh", ["-f", "-c"], inZsh],
  ["fish", ["--no-config", "-c"], inFish],
];

for (const [shell, args, script] of SHELLS) {
  Deno.test(`completion: ${shell} offers commands, options and names`, () =>
    withFolder(async (folder) => {
      for (const name of ["gateway.json", "other.json"]) await Deno.writeTextFile(`${folder}/${name}`, "{}");
      for (const [words, wanted, not] of CASES) {
        const offered = await offeredBy(shell, args, script(words), folder);
        if (!offered) {
          assertStringIncludes(script(words), "laneway");
          // deno-lint-ignore no-console -- says why less was tested
          return console.log(`${shell} is not installed, so its script was not run`);
        }
        assertEquals(wanted.filter((one) => !offered.includes(one)), [], `${words.join(" ")}: ${offered}`);
        assertEquals(not.filter((one) => offered.includes(one)), [], words.join(" "));
      }
    }));
}

Deno.test("completion: every command and option is in each script", () => {
  for (const script of [bash(ALL), zsh(ALL), fish(ALL)]) {
    for (const { name, options } of ALL) {
      assertStringIncludes(script, name);
      for (const option of options) assert(script.includes(option.name.slice(2)), option.name);
    }
  }
});
