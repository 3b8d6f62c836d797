/** The names of the files in a release that say which files belong to it. */
import manifest from "../../../deno.json" with { type: "json" };

/** The checksums of the other files. */
export const SUMS = "SHA256SUMS";

/** The lists of the program's files: in the package for npm, and in the image and the package for Debian. */
export const NPM_FILES = `laneway-${manifest.version}.npm.sha256`;
export const PROGRAM_FILES = `laneway-${manifest.version}.program.sha256`;

/** A statement of provenance. */
export const STATEMENT = `laneway-${manifest.version}.intoto.json`;
