/** Gives up what a process was allowed, for one that is about to run code of strangers. */
import process from "node:process";

const SCOPES = ["fs.read", "fs.write", "child", "worker", "net", "addon", "wasi", "inspector"];

/** Gives up every permission that the runtime can take back. Later calls of any code in the process are refused. */
export async function giveUpPermissions(): Promise<void> {
  if (typeof Deno !== "undefined") {
    const names = ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as const;
    for (const name of names) await Deno.permissions.revoke({ name } as Deno.PermissionDescriptor);
    return;
  }
  const { permission } = process as { permission?: { drop?(scope: string): void } };
  for (const scope of SCOPES) permission?.drop?.(scope);
}
