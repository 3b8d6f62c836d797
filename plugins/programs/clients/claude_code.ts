import type { Client, ClientMachine, Setting } from "../../../src/contract/client.ts";
import { ANY_KEY, inFolder, keyVariable, laneUrl, literalKey } from "./place.ts";

/** This variable takes precedence over the output of a command. */
const TOKEN = "ANTHROPIC_AUTH_TOKEN";

export const claudeCode: Client = {
  name: "claude-code",
  title: "Claude Code",
  agents: ["claude-cli"],
  wire: "messages",
  program: "claude",
  files(connection, machine) {
    const { model, contextTokens } = connection;
    const variable = keyVariable(connection);
    const key: Setting = variable === undefined
      ? { at: ["env", TOKEN], value: literalKey(connection) ?? ANY_KEY }
      : { at: ["apiKeyHelper"], value: printing(variable, machine.os) };
    return [{
      path: inFolder(machine, "CLAUDE_CONFIG_DIR", [".claude"], "settings.json"),
      // A comment in it makes Claude Code ignore the whole file.
      format: "json",
      settings: [
        { at: ["env", "ANTHROPIC_BASE_URL"], value: laneUrl(connection) },
        key,
        { at: ["env", "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY"], value: "1" },
        ...contextTokens === undefined
          ? []
          : [{ at: ["env", "CLAUDE_CODE_MAX_CONTEXT_TOKENS"], value: String(contextTokens) }],
        { at: ["model"], value: model },
      ],
    }];
  },
  steps(connection, machine) {
    const variable = keyVariable(connection);
    const isOther = variable !== undefined && variable !== TOKEN && machine.env(TOKEN);
    return [
      ...machine.isThere(managedFile(machine))
        ? [`${managedFile(machine)} wins over your settings: what it says of the address, the key or the model stays`]
        : [],
      ...isOther ? [`${TOKEN} is set here, and is sent in place of what ${variable} holds: unset it`] : [],
    ];
  },
  overriddenBy: [
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_API_KEY",
  ],
  proof: {
    args: (_, prompt) => ["-p", prompt, "--output-format", "json", "--max-turns", "4"],
    env: { DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
  },
};

/** The file with the administrator's settings. */
function managedFile({ os }: ClientMachine): string {
  if (os === "windows") return "C:\\Program Files\\ClaudeCode\\managed-settings.json";
  return os === "darwin"
    ? "/Library/Application Support/ClaudeCode/managed-settings.json"
    : "/etc/claude-code/managed-settings.json";
}

/** A command that prints the variable's value. */
function printing(variable: string, os: string): string {
  return os === "windows" ? `powershell -NoProfile -Command "$env:${variable}"` : `printenv ${variable}`;
}
