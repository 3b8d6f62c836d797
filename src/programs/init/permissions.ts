/** The permissions of the command `init`. It is for the launcher, so it imports nothing. */

/**
 * The options of `deno run` for a command line. `init` asks any server that the user names, finds clients as `connect` does, and
 * writes only into the folder of the configuration. It runs no program.
 */
export function initFlags(args: readonly string[], file: string): string[] {
  const has = (word: string) => args.includes(word);
  const isAsking = !["find", "plan", "write", "--help"].some(has);
  // A plan says whether the folder can be written.
  const isWriting = !["find", "check", "--print", "--help"].some(has);
  const folder = file.replace(/[^/\\]*$/, "") || ".";
  return [
    "--allow-read",
    "--allow-env",
    ...isAsking ? ["--allow-net"] : has("find") ? ["--allow-net=127.0.0.1"] : [],
    ...isWriting ? [`--allow-write=${folder.replaceAll(",", ",,")}`] : [],
    // The ids tell whether the user may write into the folder.
    "--allow-sys=systemMemoryInfo,uid,gid",
    "--deny-import",
    "--cached-only",
    "--no-prompt",
  ];
}
