type Env = (name: string) => string | undefined;

/** The default path of the store, in the system's folder for the user's data. Absent if no home is known. */
export function defaultStorePath(os: string, env: Env): string | undefined {
  if (os === "windows") return below(env("LOCALAPPDATA"), "\\laneway\\store.sqlite3");
  const home = env("HOME");
  if (os === "darwin") return below(home, "/Library/Application Support/laneway/store.sqlite3");
  const data = env("XDG_DATA_HOME");
  // The XDG Base Directory Specification says to ignore a relative path.
  return below(data?.startsWith("/") ? data : below(home, "/.local/share"), "/laneway/store.sqlite3");
}

function below(folder: string | undefined, rest: string): string | undefined {
  return folder ? folder + rest : undefined;
}
