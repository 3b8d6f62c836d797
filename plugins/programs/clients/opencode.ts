import type { Client, Connection, Setting } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inConfig, keyVariable, literalKey, USUAL_CONTEXT, USUAL_OUTPUT } from "./place.ts";

export const opencode: Client = {
  name: "opencode",
  title: "opencode",
  agents: ["opencode"],
  wire: "chat",
  program: "opencode",
  files(connection, machine) {
    const [plain, commented] = ["opencode.json", "opencode.jsonc"].map((name) => inConfig(machine, "opencode", name));
    return [{
      path: machine.isThere(commented!) && !machine.isThere(plain!) ? commented! : plain!,
      format: "jsonc",
      settings: opencodeSettings(connection, "https://opencode.ai/config.json"),
    }];
  },
  overriddenBy: ["OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT"],
  proof: { args: ({ model }, prompt) => ["run", "-m", `laneway/${model}`, prompt] },
};

/** The settings of opencode and its forks. */
export function opencodeSettings(connection: Connection, schema: string): Setting[] {
  const { model, contextTokens = USUAL_CONTEXT, outputTokens = USUAL_OUTPUT, takesImages } = connection;
  const variable = keyVariable(connection);
  return [
    { at: ["$schema"], value: schema, isDefault: true },
    {
      at: ["provider", "laneway"],
      value: {
        npm: "@ai-sdk/openai-compatible",
        name: "Laneway",
        options: {
          baseURL: baseUrl(connection),
          apiKey: variable === undefined ? literalKey(connection) ?? ANY_KEY : `{env:${variable}}`,
        },
        models: {
          [model]: {
            attachment: takesImages,
            tool_call: true,
            limit: { context: contextTokens, output: Math.min(outputTokens, contextTokens) },
          },
        },
      },
    },
    { at: ["model"], value: `laneway/${model}` },
  ];
}
