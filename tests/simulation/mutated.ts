/** Runs the simulation on a copy of the source with a bug in it. */
import { copy } from "../support/copy.ts";
import type { Finding } from "./search.ts";
import type { Mutation } from "./mutations.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const FOLDERS = ["src", "plugins", "tests/simulation", "tests/support", "tests/std", "tests/reliability"];
const FILES = ["deno.json", "deno.lock", "package.json", "gateway.default.json", "tests/deno.json", "tests/deno.lock"];

/** A copy of the source, which is removed at the end. */
export class MutatedSource {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(): Promise<MutatedSource> {
    const folder = await Deno.makeTempDir();
    await Promise.all(FOLDERS.map((name) => copy(`${ROOT}${name}`, `${folder}/${name}`)));
    await Promise.all(FILES.map((name) => Deno.copyFile(`${ROOT}${name}`, `${folder}/${name}`)));
    return new MutatedSource(folder);
  }

  /** The first schedule that finds the bug, if one of so many does. */
  async find({ file, changes }: Mutation, schedules: number): Promise<Finding | undefined> {
    const path = `${this.#folder}/${file}`;
    const source = await Deno.readTextFile(path);
    try {
      await Deno.writeTextFile(path, changes.reduce((text, [from, to]) => changed(text, from, to), source));
      return await this.#search(schedules);
    } finally {
      await Deno.writeTextFile(path, source);
    }
  }

  async #search(schedules: number): Promise<Finding | undefined> {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--no-check", "--no-lock", "--config", "tests/deno.json", "--allow-all"],
        ...["tests/simulation/main.ts", "--part=1", "--from=1", "--most=1", `--schedules=${schedules}`],
      ],
      cwd: this.#folder,
    }).output();
    const text = new TextDecoder().decode(stdout);
    const tally = /^tally (.*)$/m.exec(text)?.[1];
    if (tally === undefined) throw new Error(`The simulation did not run: ${new TextDecoder().decode(stderr)}`);
    return JSON.parse(tally).findings[0];
  }

  async close(): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}

function changed(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`Expected once in the source: ${from}`);
  return text.replace(from, () => to);
}
