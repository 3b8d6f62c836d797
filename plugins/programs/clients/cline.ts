import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inHome, keyVariable, literalKey } from "./place.ts";

export const cline: Client = {
  name: "cline",
  title: "Cline (command line)",
  wire: "chat",
  program: "cline",
  files(connection, machine) {
    if (keyVariable(connection) !== undefined) return [];
    const apiKey = literalKey(connection) ?? ANY_KEY;
    const provider = "openai-compatible";
    return [{
      path: inHome(machine, ".cline", "data", "settings", "providers.json"),
      format: "json",
      settings: [
        { at: ["version"], value: 1, isDefault: true },
        { at: ["lastUsedProvider"], value: provider },
        { at: ["modes"], value: {}, isDefault: true },
        {
          at: ["providers", provider],
          value: {
            settings: { provider, apiKey, model: connection.model, baseUrl: baseUrl(connection) },
            updatedAt: "2026-01-01T00:00:00.000Z",
            tokenSource: "manual",
          },
        },
      ],
    }];
  },
  steps(connection) {
    const { model } = connection;
    const extension = `In the editor's extension: API Provider "OpenAI Compatible", Base URL ${
      baseUrl(connection)
    }, model ${model}`;
    return keyVariable(connection) === undefined
      ? [extension]
      : ["Its settings hold the key itself, not a variable's name: connect it with --key -", extension];
  },
  proof: {
    // It would read a single word as a command.
    args: (_, prompt) => ["--json", prompt],
    // Otherwise it leaves a background process running.
    env: { CLINE_SESSION_BACKEND_MODE: "local" },
  },
};
