/** The commit that a release is made of. All times in its files are the commit's, so that equal commits give equal bytes. */
import { run } from "./run.ts";

export interface Source {
  /** The commit's id. */
  readonly commit: string;
  /** When it was made, in seconds since the epoch. */
  readonly epoch: number;
  /** Whether files differ from the commit. */
  readonly isModified: boolean;
  /** The repository's address. Absent if nobody said where it is. */
  readonly repository?: string;
}

type Env = (name: string) => string | undefined;

/** Throws if this is not a clone. */
export async function readSource(env: Env = (name) => Deno.env.get(name)): Promise<Source> {
  const [commit = "", time] = (await run("git", ["log", "-1", "--format=%H %ct"])).trim().split(" ");
  const isModified = (await run("git", ["status", "--porcelain"])) !== "";
  return { commit, epoch: Number(env("SOURCE_DATE_EPOCH") || time), isModified, repository: repositoryUrl(env) };
}

/** The repository's address by the variables that are set where workflows run. */
export function repositoryUrl(env: Env = (name) => Deno.env.get(name)): string | undefined {
  const name = env("GITHUB_REPOSITORY");
  return name && `${env("GITHUB_SERVER_URL") || "https://github.com"}/${name}`;
}
