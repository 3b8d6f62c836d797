/**
 * Node's modules by name, each loaded on first use. In Deno 2.9 the first one takes 20 ms, because all of them need Node's
 * streams, buffers and `process`. That is a fifth of a start, and the first answer needs none of them.
 */
export interface Builtins {
  "node:buffer": typeof import("node:buffer");
  "node:crypto": typeof import("node:crypto");
  "node:fs": typeof import("node:fs");
  "node:fs/promises": typeof import("node:fs/promises");
  "node:net": typeof import("node:net");
  "node:os": typeof import("node:os");
  "node:path": typeof import("node:path");
  "node:sqlite": typeof import("node:sqlite");
  "node:timers": typeof import("node:timers");
  "node:util": typeof import("node:util");
  "node:v8": typeof import("node:v8");
  "node:vm": typeof import("node:vm");
  "node:zlib": typeof import("node:zlib");
}

const loaded: Partial<Builtins> = {};
/** Whether the runtime has only the modules that were supplied. */
let isSupplied = false;

export function builtin<Name extends keyof Builtins>(name: Name): Builtins[Name] {
  return loaded[name] ??= process.getBuiltinModule(name) as Builtins[Name];
}

/** Supplies what the gateway needs of these modules, for a runtime that has none of them. */
export function supplyBuiltins(modules: Partial<Builtins>): void {
  isSupplied = true;
  Object.assign(loaded, modules);
}

/** Whether the runtime has the module, or it was supplied. */
export function hasBuiltin(name: keyof Builtins): boolean {
  return !isSupplied || name in loaded;
}
