import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inFolder, keyVariable, literalKey, USUAL_CONTEXT, USUAL_OUTPUT } from "./place.ts";

/** The name of the model in its settings. */
const NAME = "laneway";

export const grok: Client = {
  name: "grok",
  title: "Grok Build",
  wire: "chat",
  program: "grok",
  files(connection, machine) {
    const { model, contextTokens = USUAL_CONTEXT, outputTokens = USUAL_OUTPUT } = connection;
    const variable = keyVariable(connection);
    return [{
      path: inFolder(machine, "GROK_HOME", [".grok"], "config.toml"),
      format: "toml",
      settings: [
        { at: ["models", "default"], value: NAME },
        {
          at: ["model", NAME],
          value: {
            name: `${model} by Laneway`,
            model,
            base_url: baseUrl(connection),
            ...variable === undefined ? { api_key: literalKey(connection) ?? ANY_KEY } : { env_key: variable },
            api_backend: "chat_completions",
            context_window: contextTokens,
            max_completion_tokens: outputTokens,
          },
        },
      ],
    }];
  },
  steps: () => [
    "For titles, searches, pictures and subagents it asks its own models, unless [models] and [subagents.models] name others",
  ],
  proof: { args: (_, prompt) => ["-p", prompt, "-m", NAME] },
};
