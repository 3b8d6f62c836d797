type Env = (name: string) => string | undefined;

/**
 * The default path of the store, in the system's folder for the user's data. Absent if no home is known. `database`: the two kinds
 * cannot read each other's files.
 */
export function defaultStorePath(os: string, env: Env, database: "kv" | "sqlite" = "kv"): string | undefined {
  const file = database === "kv" ? "store.sqlite3" : "store-node.sqlite3";
  if (os === "windows") return below(env("LOCALAPPDATA"), `\\laneway\\${file}`);
  const home = env("HOME");
  if (os === "darwin") return below(home, `/Library/Application Support/laneway/${file}`);
  const data = env("XDG_DATA_HOME");
  // The XDG Base Directory Specification says to ignore a relative path.
  return below(data?.startsWith("/") ? data : below(home, "/.local/share"), `/laneway/${file}`);
}

function below(folder: string | undefined, rest: string): string | undefined {
  return folder ? folder + rest : undefined;
}
