/** Deno, the gateway's first platform. Nothing here is looked at before it is used, so that other runtimes can read this file. */
import { serve } from "./deno_serve.ts";
import type { Permission, Platform } from "./platform.ts";

export const deno: Platform = {
  get os() {
    return Deno.build.os;
  },
  hasDatabase: true,
  get args() {
    return Deno.args;
  },
  get executable() {
    return Deno.build.standalone ? Deno.execPath() : undefined;
  },
  get command() {
    return deno.env("LANEWAY_COMMAND") || "deno task start";
  },
  env: (name) => Deno.env.get(name),
  get fetch() {
    return globalThis.fetch;
  },
  write: (to, bytes) => Deno[to].write(bytes),
  isTerminal: (stream) => Deno[stream].isTerminal(),
  isGranted: (permission: Permission) => Deno.permissions.querySync(permission).state === "granted",
  onSignal(signal, run) {
    Deno.addSignalListener(signal, run);
    return () => Deno.removeSignalListener(signal, run);
  },
  readText: (path) => Deno.readTextFileSync(path),
  modifiedAt: (path) => Deno.statSync(path).mtime?.getTime() ?? 0,
  memory: () => Deno.memoryUsage().rss,
  parentId: () => Deno.ppid,
  serve: (options) => Promise.try(serve, options),
  upgrade: (request) => Deno.upgradeWebSocket(request),
  exit: (code) => Deno.exit(code),
};
