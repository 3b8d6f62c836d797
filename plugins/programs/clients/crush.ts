import type { Client } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inConfig, inHome, keyVariable, literalKey, USUAL_CONTEXT, USUAL_OUTPUT } from "./place.ts";

export const crush: Client = {
  name: "crush",
  title: "Crush",
  wire: "chat",
  program: "crush",
  files(connection, machine) {
    const { model, contextTokens = USUAL_CONTEXT, outputTokens = USUAL_OUTPUT, takesImages } = connection;
    const variable = keyVariable(connection);
    const below = ["crush", "crush.json"];
    return [{
      path: machine.os === "windows" ? inHome(machine, ".config", ...below) : inConfig(machine, ...below),
      format: "json",
      settings: [
        { at: ["$schema"], value: "https://charm.land/crush.json", isDefault: true },
        {
          at: ["providers", "laneway"],
          value: {
            name: "Laneway",
            type: "openai-compat",
            base_url: baseUrl(connection),
            api_key: variable === undefined ? literalKey(connection) ?? ANY_KEY : `$${variable}`,
            models: [{
              id: model,
              name: model,
              context_window: contextTokens,
              default_max_tokens: outputTokens,
              supports_attachments: takesImages,
            }],
          },
        },
      ],
    }];
  },
  steps: (_, machine) =>
    machine.isThere(inConfig(machine, "crush", "crushrc"))
      ? ["There is a crushrc, which wins over crush.json: add the provider there, too"]
      : [],
  proof: { args: ({ model }, prompt) => ["run", "-m", `laneway/${model}`, prompt] },
};
