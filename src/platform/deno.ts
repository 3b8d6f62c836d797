/** Deno, the gateway's first platform. Nothing here is looked at before it is used, so that other runtimes can read this file. */
import { serve } from "./deno_serve.ts";
import type { Permission, Platform } from "./platform.ts";

/**
 * After so many seconds in which a client sent nothing it is sent a ping, and is gone where it does not answer that within as many
 * more: what is sent before the ping it has to read before it.
 */
const PING_S = 30;

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
  upgrade: (request) => Deno.upgradeWebSocket(request, { idleTimeout: 2 * PING_S }),
  exit: (code) => Deno.exit(code),
};
