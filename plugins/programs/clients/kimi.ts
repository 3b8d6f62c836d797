import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inFolder, keyVariable, literalKey, USUAL_CONTEXT } from "./place.ts";

/** The name of the provider and of the model in its settings. */
const NAME = "laneway";

export const kimi: Client = {
  name: "kimi",
  title: "Kimi CLI",
  agents: ["KimiCLI"],
  wire: "chat",
  program: "kimi",
  files(connection, machine) {
    const { model, contextTokens = USUAL_CONTEXT, takesImages } = connection;
    return [{
      path: inFolder(machine, "KIMI_SHARE_DIR", [".kimi"], "config.toml"),
      format: "toml",
      settings: [
        { at: ["default_model"], value: NAME },
        {
          at: ["providers", NAME],
          value: {
            type: "openai_legacy",
            base_url: baseUrl(connection),
            // It wants some text here, and a variable wins over it.
            api_key: keyVariable(connection) === undefined ? literalKey(connection) ?? ANY_KEY : "",
            reasoning_key: "reasoning_content",
          },
        },
        {
          at: ["models", NAME],
          value: {
            provider: NAME,
            model,
            max_context_size: contextTokens,
            capabilities: takesImages ? ["thinking", "image_in"] : ["thinking"],
          },
        },
      ],
    }];
  },
  steps(connection) {
    const variable = keyVariable(connection);
    return variable === undefined ? [] : [`Start it with the key: OPENAI_API_KEY="$${variable}" kimi`];
  },
  overriddenBy: ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
  proof: { args: (_, prompt) => ["--print", "-p", prompt], keyIn: "OPENAI_API_KEY" },
};
