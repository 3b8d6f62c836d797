/** Editors that keep their settings in files. */
import type { Client } from "../../../src/contract/client.ts";
import { baseUrl, inAppData, inConfig, inHome, USUAL_CONTEXT, USUAL_OUTPUT } from "./place.ts";

const ZED_PROVIDER = "Laneway";

export const zed: Client = {
  name: "zed",
  title: "Zed",
  wire: "chat",
  program: "zed",
  folder: (machine) => machine.os === "windows" ? inAppData(machine, "Zed") : inConfig(machine, "zed"),
  files(connection, machine) {
    const { model, contextTokens = USUAL_CONTEXT, outputTokens = USUAL_OUTPUT, takesImages } = connection;
    const onWindows = machine.os === "windows";
    return [{
      path: onWindows ? inAppData(machine, "Zed", "settings.json") : inConfig(machine, "zed", "settings.json"),
      format: "jsonc",
      settings: [
        {
          at: ["language_models", "openai_compatible", ZED_PROVIDER],
          value: {
            api_url: baseUrl(connection),
            available_models: [{
              name: model,
              display_name: model,
              max_tokens: contextTokens,
              max_output_tokens: outputTokens,
              capabilities: {
                tools: true,
                images: takesImages,
                parallel_tool_calls: true,
                prompt_cache_key: false,
                chat_completions: true,
              },
            }],
          },
        },
        { at: ["agent", "default_model"], value: { provider: ZED_PROVIDER, model } },
      ],
    }];
  },
  steps: ({ key }) => [
    key
      ? "Zed keeps keys in the system's keychain: enter it under Agent → Settings → LLM Providers → Laneway, or start Zed with LANEWAY_API_KEY"
      : "Zed wants some key: start it with LANEWAY_API_KEY=any, or enter any text under Agent → Settings → LLM Providers → Laneway",
  ],
};

export const vscode: Client = {
  name: "vscode",
  title: "VS Code (chat)",
  wire: "chat",
  program: "code",
  files(connection, machine) {
    const { model, contextTokens = USUAL_CONTEXT, outputTokens = USUAL_OUTPUT, takesImages } = connection;
    return [{
      path: vscodeFile(machine),
      format: "jsonc",
      settings: [{
        at: [],
        by: "name",
        entry: {
          vendor: "customendpoint",
          name: "Laneway",
          apiType: "chat-completions",
          models: [{
            id: model,
            name: model,
            url: baseUrl(connection),
            toolCalling: true,
            vision: takesImages,
            maxInputTokens: Math.max(1, contextTokens - outputTokens),
            maxOutputTokens: outputTokens,
            streaming: true,
          }],
        },
      }],
    }];
  },
  steps: ({ key }) => [
    ...key ? ["VS Code keeps keys itself: Chat: Manage Language Models → Laneway → Update API Key"] : [],
    "Reload the window: Developer: Reload Window",
  ],
};

function vscodeFile(machine: Parameters<NonNullable<Client["files"]>>[1]): string {
  const below = ["Code", "User", "chatLanguageModels.json"];
  if (machine.os === "windows") return inAppData(machine, ...below);
  if (machine.os === "darwin") return inHome(machine, "Library", "Application Support", ...below);
  return inConfig(machine, ...below);
}
