/** The statement of where the files of a release come from, in the form of in-toto with a predicate of SLSA. */
import manifest from "../../../deno.json" with { type: "json" };
import { ROOT } from "../compile.ts";
import { digestOf } from "../../programs/verify/own_files.ts";
import type { Source } from "./source.ts";

export interface Facts {
  source: Source;
  digests: ReadonlyMap<string, string>;
  /** Digests of the lock files, by their names. */
  locks: Readonly<Record<string, string>>;
  /** The version of Deno. */
  deno: string;
  /** The workflow that builds. Absent on a machine of a developer. */
  workflow?: string;
}

export async function readLocks(): Promise<Record<string, string>> {
  const names = ["deno.lock", "src/fetcher/documents/deno.lock"];
  const digests = names.map(async (name) => [name, await digestOf(new URL(name, ROOT).pathname)]);
  return Object.fromEntries(await Promise.all(digests));
}

/** The statement as text. It has no time of the build, so equal commits give equal texts. */
export function statementText({ source, digests, locks, deno, workflow }: Facts): string {
  const { commit, epoch, isModified, repository } = source;
  const materials = [
    { ...(repository && { uri: `git+${repository}@${commit}` }), name: "source", digest: { gitCommit: commit } },
    { uri: `pkg:generic/deno@${deno}` },
    ...Object.entries(locks).map(([name, sha256]) => ({ name, digest: { sha256 } })),
  ];
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [...digests].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:laneway:release:1",
        externalParameters: { task: "release", version: manifest.version },
        internalParameters: { SOURCE_DATE_EPOCH: epoch, isModified },
        resolvedDependencies: materials,
      },
      runDetails: { builder: { id: workflow ?? "urn:laneway:builder:local" } },
    },
  };
  return JSON.stringify(statement, null, 2) + "\n";
}

/** The address of the workflow that runs this, by the variables that are set there. */
export function workflowUrl(env: (name: string) => string | undefined): string | undefined {
  const place = env("GITHUB_WORKFLOW_REF");
  return place && `${env("GITHUB_SERVER_URL") || "https://github.com"}/${place}`;
}
