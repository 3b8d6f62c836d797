/** The contract of a kind of artefact. A kind is a module in this folder and a line in `../release.ts`. */

/** A run of `deno task release`. */
export interface Release {
  /** The absolute path of the folder that gets the files. */
  readonly folder: string;
  /** The targets of `deno compile` for which there are executables. */
  readonly targets: readonly string[];
}

/** A file in the folder, or one line that says why it could not be made. */
export type Made = { readonly file: string } | { readonly failure: string };

export interface Kind {
  /** The option of `deno task release` that makes this kind alone. */
  readonly name: string;
  /** Needs of this kind besides Deno and the locked packages, for `--help`. */
  readonly needs: string;
  /** Writes the files. `made`: the files of the kinds before it. */
  build(release: Release, made: readonly string[]): Promise<Made[]>;
}

/** Makes one file, whose name `build` returns. A failure leaves the other files alone. */
export async function make(what: string, build: () => Promise<string>): Promise<Made> {
  try {
    return { file: await build() };
  } catch (error) {
    return { failure: `Cannot make ${what}: ${(error as Error).message.trim().split("\n")[0]}` };
  }
}
