import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inHome, keyVariable, literalKey } from "./place.ts";

export const aider: Client = {
  name: "aider",
  title: "aider",
  wire: "chat",
  program: "aider",
  files(connection, machine) {
    const { model, contextTokens, outputTokens } = connection;
    const name = `openai/${model}`;
    const isKeyInVariable = keyVariable(connection) !== undefined;
    const limits = contextTokens === undefined ? [] : [{
      path: inHome(machine, ".aider.model.metadata.json"),
      format: "json" as const,
      settings: [{
        at: [name],
        value: {
          max_input_tokens: contextTokens,
          ...outputTokens !== undefined && { max_output_tokens: outputTokens },
          litellm_provider: "openai",
          mode: "chat",
        },
      }],
    }];
    return [{
      path: inHome(machine, ".aider.conf.yml"),
      format: "yaml",
      settings: [
        { at: ["openai-api-base"], value: baseUrl(connection) },
        ...isKeyInVariable ? [] : [{ at: ["openai-api-key"], value: literalKey(connection) ?? ANY_KEY }],
        { at: ["model"], value: name },
      ],
    }, ...limits];
  },
  steps(connection) {
    const variable = keyVariable(connection);
    return variable === undefined ? [] : [`Start it with the key: OPENAI_API_KEY="$${variable}" aider`];
  },
  overriddenBy: ["OPENAI_BASE_URL", "AIDER_OPENAI_API_BASE", "AIDER_OPENAI_API_KEY", "AIDER_MODEL"],
  // It has no tools: the model writes its edits into the text.
  proof: {
    args: (_, prompt) => [
      "--message",
      prompt,
      "--yes-always",
      "--no-git",
      "--no-suggest-shell-commands",
      "--no-check-update",
      "--no-show-release-notes",
      "--analytics-disable",
    ],
    keyIn: "OPENAI_API_KEY",
  },
};
