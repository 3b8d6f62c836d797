/** The names of the files in a release that say which files belong to it. */
import manifest from "../../../deno.json" with { type: "json" };

/** The checksums of the other files. */
export const SUMS = "SHA256SUMS";

/** The list of the program's files in a release. It has a checksum like the release's other files. */
export const LIST = `laneway-${manifest.version}.files.sha256`;

/** A statement of provenance. */
export const STATEMENT = `laneway-${manifest.version}.intoto.json`;
