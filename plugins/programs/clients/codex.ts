import type { Client, Connection, Setting } from "../../../src/contract/client.ts";
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
    return [{
      path: inFolder(machine, "CODEX_HOME", [".codex"], `${PROFILE}.config.toml`),
      format: "toml",
      settings: settingsFor(connection),
    }];
  },
  steps: () => [
    `Start it with: codex --profile ${PROFILE} (version 0.134 or later)`,
    "The desktop app and the editor's extension read no profiles: connect codex-app for them",
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

/** The desktop app and the editor's extension. They share their file with the command, which then uses the gateway, too. */
export const codexApp: Client = {
  name: "codex-app",
  title: "Codex (desktop app, editor's extension)",
  wire: "responses",
  files: (connection, machine) => [{
    path: inFolder(machine, "CODEX_HOME", [".codex"], "config.toml"),
    format: "toml",
    settings: settingsFor(connection),
  }],
  steps(connection, { os }) {
    const variable = keyVariable(connection);
    const isHidden = variable !== undefined && os === "darwin";
    return [
      ...isHidden
        ? [`Programs of the Finder know no variables of the shell: run launchctl setenv ${variable} "$${variable}"`]
        : [],
      "Quit the app and start it again. The command codex reads the same file, and uses the gateway from now on, too",
    ];
  },
};

function settingsFor(connection: Connection): Setting[] {
  const { model, key } = connection;
  const variable = keyVariable(connection);
  return [
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
  ];
}
