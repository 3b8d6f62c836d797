import type { Client, SettingsFile } from "../../../src/contract/client.ts";
import { ANY_KEY, baseUrl, inHome, keyVariable } from "./place.ts";

/** The secret's name if the key itself was given. */
const SECRET = "LANEWAY_KEY";

export const continueDev: Client = {
  name: "continue",
  title: "Continue",
  wire: "chat",
  program: "cn",
  folder: (machine) => inHome(machine, ".continue"),
  completesCode: true,
  files(connection, machine) {
    const { model, key, takesImages, fillsGaps } = connection;
    const server = { provider: "openai", model, apiBase: baseUrl(connection) };
    const secret = key && (keyVariable(connection) ?? SECRET);
    const secrets: SettingsFile[] = key && "value" in key
      ? [{
        path: inHome(machine, ".continue", ".env"),
        format: "dotenv",
        settings: [{ at: [SECRET], value: key.value }],
      }]
      : [];
    const apiKey = secret === undefined ? ANY_KEY : `\${{ secrets.${secret} }}`;
    return [{
      path: inHome(machine, ".continue", "config.yaml"),
      format: "yaml",
      settings: [
        { at: ["name"], value: "Local Config", isDefault: true },
        { at: ["version"], value: "1.0.0", isDefault: true },
        { at: ["schema"], value: "v1", isDefault: true },
        {
          at: ["models"],
          by: "name",
          entry: {
            name: "Laneway",
            ...server,
            apiKey,
            roles: ["chat", "edit", "apply"],
            capabilities: ["tool_use", ...takesImages ? ["image_input"] : []],
          },
        },
        ...fillsGaps
          ? [{
            at: ["models"],
            by: "name",
            entry: {
              name: "Laneway autocomplete",
              ...server,
              apiKey,
              roles: ["autocomplete"],
              useLegacyCompletionsEndpoint: true,
            },
          }]
          : [],
      ],
    }, ...secrets];
  },
  steps(connection, machine) {
    const variable = keyVariable(connection);
    const choose = "Choose the model Laneway in Continue";
    return variable === undefined
      ? [choose]
      : [`Put ${variable}=<the key> into ${inHome(machine, ".continue", ".env")}, unless it is there`, choose];
  },
  proof: { args: (_, prompt) => ["-p", prompt] },
};
