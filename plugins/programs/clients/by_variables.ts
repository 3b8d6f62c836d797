/** Clients that read environment variables only. These are set in the shell's startup file. */
import type { Client, ClientMachine, Connection, SettingsFile } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inConfig, inFolder, inHome, keyVariable, laneUrl, literalKey } from "./place.ts";

type Value = string | { env: string };

function keyValue(connection: Connection): Value {
  const variable = keyVariable(connection);
  return variable === undefined ? literalKey(connection) ?? ANY_KEY : { env: variable };
}

/** Where the user's shell reads what it is to export; nothing where that is not known. */
function shellFile(machine: ClientMachine, values: Readonly<Record<string, Value>>): SettingsFile[] {
  const path = shellPath(machine);
  const settings = Object.entries(values).map(([name, value]) => ({ at: [name], value }));
  return path === undefined ? [] : [{ path, format: "shell", settings }];
}

function shellPath(machine: ClientMachine): string | undefined {
  const shell = machine.os === "windows" ? "" : machine.env("SHELL")?.split("/").at(-1);
  if (shell === "bash") return inHome(machine, ".bashrc");
  if (shell === "zsh") return inFolder(machine, "ZDOTDIR", [], ".zshrc");
  if (shell === "fish") return inConfig(machine, "fish", "conf.d", "laneway.fish");
  return undefined;
}

function stepsFor(machine: ClientMachine, values: Readonly<Record<string, Value>>): string[] {
  if (shellPath(machine) !== undefined) return ["Open a new shell, which sets them"];
  const set = machine.os === "windows" ? "setx NAME value" : "export NAME=value";
  const text = (value: Value) => typeof value === "string" ? value : `<what ${value.env} holds>`;
  return [
    `Set these variables (${set}): ${
      Object.entries(values).map(([name, value]) => `${name}=${text(value)}`).join(" ")
    }`,
  ];
}

function copilotVariables(connection: Connection): Record<string, Value> {
  const { model, contextTokens, outputTokens } = connection;
  return {
    COPILOT_PROVIDER_BASE_URL: baseUrl(connection),
    COPILOT_PROVIDER_TYPE: "openai",
    COPILOT_PROVIDER_API_KEY: keyValue(connection),
    COPILOT_MODEL: model,
    ...contextTokens !== undefined && { COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(contextTokens) },
    ...outputTokens !== undefined && { COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: String(outputTokens) },
    COPILOT_OFFLINE: "true",
  };
}

export const copilot: Client = {
  name: "copilot",
  title: "GitHub Copilot CLI",
  wire: "chat",
  program: "copilot",
  files: (connection, machine) => shellFile(machine, copilotVariables(connection)),
  steps: (connection, machine) => stepsFor(machine, copilotVariables(connection)),
  proof: { args: (_, prompt) => ["-p", prompt, "-s", "--allow-all-tools"] },
};

function ollamaVariables(connection: Connection): Record<string, Value> {
  return { OLLAMA_HOST: laneUrl(connection), OLLAMA_API_KEY: keyValue(connection) };
}

export const ollamaClients: Client = {
  name: "ollama",
  title: "Clients of Ollama",
  wire: "ollama",
  files: (connection, machine) => shellFile(machine, ollamaVariables(connection)),
  steps: (connection, machine) => stepsFor(machine, ollamaVariables(connection)),
};
