/** Gives up what a process was allowed, for one that is about to run code of strangers. */
import { constants } from "node:fs";
import process from "node:process";

const SCOPES = ["fs.read", "fs.write", "child", "worker", "net", "addon", "wasi", "inspector"];

/** Lets a library that looks up the constants of files start on Node, whose permission model refuses the old way to them. */
export function provideConstants(): void {
  if (typeof Deno === "undefined") Object.assign(process, { binding: () => ({ fs: constants }) });
}

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

/** The globals that code could use if it reached the objects of the thread itself. */
const TEMPTING = [
  "Deno",
  "process",
  "fetch",
  "Worker",
  "SharedWorker",
  "WebSocket",
  "WebSocketStream",
  "EventSource",
  "BroadcastChannel",
  "Request",
  "Response",
  "caches",
  "localStorage",
  "sessionStorage",
  "postMessage",
  "close",
];

/** Removes from the thread what the permissions are about, and its console, which writes to the process's own streams. */
export function hideRuntime(): void {
  for (const name of TEMPTING) Reflect.deleteProperty(globalThis, name);
  Object.assign(globalThis, { console: new Proxy({}, { get: () => () => {} }) });
}
