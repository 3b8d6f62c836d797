import { TASKS } from "../../src/canonical/models.ts";
import fc from "fast-check";
import type { CatalogFacts, DriverFacts, Problem } from "../../src/config/check.ts";
import { ConfigError } from "../../src/config/load.ts";

export const drivers: Record<string, DriverFacts> = {
  chat: { tasks: ["chat", "embedding"], needsBaseUrl: true, counters: ["tokenize"], reads: ["textForms"] },
  hub: {
    tasks: ["embedding", "rerank", "speech", "transcription", "image"],
    needsBaseUrl: true,
    counters: [],
    reads: [],
  },
  sandbox: { tasks: TASKS, needsBaseUrl: false, counters: [], reads: [] },
};

export const catalogs: Record<string, CatalogFacts> = {
  hub: { finds: true, tokenizes: true, hasPrices: false },
  router: { finds: false, tokenizes: false, hasPrices: true },
};

/** The environment, as far as a test sets it. Throws for the names that the platform throws for. */
export function environment(variables: Record<string, string> = {}): (name: string) => string | undefined {
  return (name) => {
    if (name === "" || /[=\0]/.test(name)) throw new TypeError(`Key is invalid: "${name}"`);
    return variables[name];
  };
}

/** The problems that `load` throws, each as one line. */
export function problemsOf(load: () => unknown): string[] {
  try {
    load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(toLine);
  }
  return [];
}

export function toLine({ path, message }: Problem): string {
  return path === "" ? message : `${path}: ${message}`;
}

/** JSON that looks more or less like a configuration. */
export const anyConfig = fc.object({
  key: fc.constantFrom(
    ...["listen", "hostname", "port", "keys", "name", "secret", "env", "lanes", "upstreams", "driver", "baseUrl"],
    ...[
      "models",
      "task",
      "catalogs",
      "catalog",
      "plugin",
      "targets",
      "upstream",
      "headers",
      "timeouts",
      "limits",
      "oss",
      "chat",
    ],
  ),
  values: [
    fc.constantFrom(
      "chat",
      "sandbox",
      "oss",
      "hub",
      "default",
      "LANEWAY_KEY",
      "http://127.0.0.1",
      "0.0.0.0",
      "",
      1,
      -1,
      null,
    ),
  ],
  maxDepth: 6,
  maxKeys: 6,
});
