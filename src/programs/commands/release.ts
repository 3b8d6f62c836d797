/** The commands about the release that runs. */
import { command, JSON_OUTPUT } from "./command.ts";

export const VERIFY = command({
  name: "verify",
  group: "Deploy",
  summary: "compares this program with a release's checksums",
  operands: "<file or folder> ...",
  about: "Compares the files of this program with SHA256SUMS and the provenance statement of a\n" +
    "release. Exits with 0 if all are as listed. A program that was changed may lie about\n" +
    "itself, and signatures are not checked here: docs/verify.md has the way without it.",
  options: { ...JSON_OUTPUT },
  examples: ["verify release", "verify SHA256SUMS laneway.intoto.json"],
  words: "file",
});

export const VERSION = command({
  name: "version",
  group: "Deploy",
  summary: "prints the version; --check asks for a newer one",
  about: "Prints the version of Laneway. With --check, it asks the registry of npm for a newer\n" +
    "one, which nothing else in Laneway does.",
  options: {
    check: { type: "boolean", help: "ask the registry" },
    registry: { type: "string", value: "<URL>", help: "the registry; default: the one that npm is set to use" },
    ...JSON_OUTPUT,
  },
  examples: ["version", "version --check"],
});
