import type { Client } from "../../../src/contract/client.ts";
import { baseUrl, inFolder, keyVariable } from "./place.ts";

/** The profile's name: `codex --profile laneway` reads it on top of the user's own settings. */
const PROFILE = "laneway";

export const codex: Client = {
  name: "codex",
  title: "Codex",
  agents: ["codex_cli_rs", "codex_exec"],
  wire: "responses",
  program: "codex",
  files(connection, machine) {
    const { model, key } = connection;
    const variable = keyVariable(connection);
    return [{
      path: inFolder(machine, "CODEX_HOME", [".codex"], `${PROFILE}.config.toml`),
      format: "toml",
      settings: [
        { at: ["model"], value: model },
        { at: ["model_provider"], value: PROFILE },
        // Without a search backend at the gateway, nothing would run the tool that it offers.
        { at: ["web_search"], value: "disabled", isDefault: true },
        {
          at: ["model_providers", PROFILE],
          value: {
            name: "Laneway",
            base_url: baseUrl(connection),
            wire_api: "responses",
            model_catalog_url: `${baseUrl(connection)}/models`,
            ...variable !== undefined && { env_key: variable },
            ...key && "value" in key && { experimental_bearer_token: key.value },
          },
        },
      ],
    }];
  },
  steps: () => [
    `Start it with: codex --profile ${PROFILE} (version 0.134 or later)`,
    "The desktop app and the editor's extension read config.toml, not profiles: docs/clients.md has their settings",
  ],
  proof: {
    args: (_, prompt) => [
      "exec",
      "--profile",
      PROFILE,
      "--skip-git-repo-check",
      "--json",
      "--sandbox",
      "read-only",
      prompt,
    ],
  },
};
