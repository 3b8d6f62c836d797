import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inHome, keyVariable, literalKey } from "./place.ts";

/** The variable in its own settings that holds the key, if the key itself was given. */
const OWN_VARIABLE = "LANEWAY_KEY";

export const qwenCode: Client = {
  name: "qwen-code",
  title: "Qwen Code",
  agents: ["QwenCode"],
  wire: "chat",
  program: "qwen",
  files(connection, machine) {
    const { model } = connection;
    const variable = keyVariable(connection);
    const entry = { id: model, name: "Laneway", baseUrl: baseUrl(connection), envKey: variable ?? OWN_VARIABLE };
    return [{
      path: inHome(machine, ".qwen", "settings.json"),
      format: "jsonc",
      settings: [
        { at: ["security", "auth", "selectedType"], value: "openai" },
        { at: ["security", "auth", "baseUrl"], value: baseUrl(connection) },
        { at: ["modelProviders", "openai"], by: "name", entry },
        ...variable === undefined ? [{ at: ["env", OWN_VARIABLE], value: literalKey(connection) ?? ANY_KEY }] : [],
        { at: ["model", "name"], value: model },
      ],
    }];
  },
  overriddenBy: ["OPENAI_BASE_URL", "OPENAI_MODEL", "HTTPS_PROXY"],
  proof: { args: (_, prompt) => ["-p", prompt] },
};
