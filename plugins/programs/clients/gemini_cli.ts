import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, inHome, keyVariable, laneUrl, literalKey } from "./place.ts";

export const geminiCli: Client = {
  name: "gemini-cli",
  title: "Gemini CLI",
  agents: ["GeminiCLI"],
  wire: "gemini",
  program: "gemini",
  files(connection, machine) {
    const isKeyInVariable = keyVariable(connection) !== undefined;
    return [{
      path: inHome(machine, ".gemini", ".env"),
      format: "dotenv",
      settings: [
        { at: ["GOOGLE_GEMINI_BASE_URL"], value: laneUrl(connection) },
        ...isKeyInVariable ? [] : [{ at: ["GEMINI_API_KEY"], value: literalKey(connection) ?? ANY_KEY }],
      ],
    }, {
      path: inHome(machine, ".gemini", "settings.json"),
      format: "jsonc",
      settings: [
        { at: ["security", "auth", "selectedType"], value: "gemini-api-key" },
        { at: ["model", "name"], value: connection.model },
      ],
    }];
  },
  steps(connection) {
    const variable = keyVariable(connection);
    const key = variable === undefined ? [] : [`Start it with the key: GEMINI_API_KEY="$${variable}" gemini`];
    return [
      "It reads these files in folders that it trusts, and a project's own .env or .gemini/.env in place of the first",
      ...key,
      `For searches and summaries it asks for models named gemini-*: the lane serves them by an alias of ${connection.model}`,
    ];
  },
  overriddenBy: ["GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "GEMINI_MODEL"],
  proof: {
    args: (_, prompt) => ["-p", prompt],
    env: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
    keyIn: "GEMINI_API_KEY",
  },
};
