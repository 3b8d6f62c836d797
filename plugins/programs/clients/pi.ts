import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inHome, keyVariable, literalKey, USUAL_CONTEXT } from "./place.ts";

export const pi: Client = {
  name: "pi",
  title: "pi",
  wire: "chat",
  program: "pi",
  files(connection, machine) {
    const { model, contextTokens = USUAL_CONTEXT, outputTokens, takesImages } = connection;
    return [
      {
        path: inHome(machine, ".pi", "agent", "models.json"),
        format: "json",
        settings: [{
          at: ["providers", "laneway"],
          value: {
            baseUrl: baseUrl(connection),
            api: "openai-completions",
            apiKey: keyVariable(connection) ?? literalKey(connection) ?? ANY_KEY,
            models: [{
              id: model,
              contextWindow: contextTokens,
              ...outputTokens !== undefined && { maxTokens: outputTokens },
              input: takesImages ? ["text", "image"] : ["text"],
            }],
          },
        }],
      },
      {
        path: inHome(machine, ".pi", "agent", "settings.json"),
        format: "json",
        settings: [
          { at: ["defaultProvider"], value: "laneway" },
          { at: ["defaultModel"], value: model },
        ],
      },
    ];
  },
  proof: {
    args: ({ model }, prompt) => ["-p", prompt, "--provider", "laneway", "--model", model],
    env: { PI_OFFLINE: "1" },
  },
};
