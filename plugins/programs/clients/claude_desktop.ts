import type { Client, ClientMachine } from "../../../src/contract/client.ts";
import { ANY_KEY, inHome, inLocalAppData, keyVariable, laneUrl, literalKey } from "./place.ts";

/** The id of the configuration in the app's library. */
const ENTRY = "6c616e65-7761-4920-8000-000000000001";

/** The app in the mode in which it asks a gateway in place of its vendor. */
export const claudeDesktop: Client = {
  name: "claude-desktop",
  title: "Claude Desktop",
  wire: "messages",
  folder: (machine) => isServed(machine) ? folderOf(machine, "Claude") : undefined,
  files(connection, machine) {
    const key = literalKey(connection) ?? ANY_KEY;
    if (!isServed(machine) || keyVariable(connection) !== undefined) return [];
    const library = (name: string) => folderOf(machine, "Claude-3p", "configLibrary", name);
    const mode = { at: ["deploymentMode"], value: "3p" };
    return [
      {
        path: library(`${ENTRY}.json`),
        format: "json",
        settings: [
          { at: ["inferenceProvider"], value: "gateway" },
          { at: ["inferenceGatewayBaseUrl"], value: laneUrl(connection) },
          { at: ["inferenceGatewayApiKey"], value: key },
          { at: ["inferenceGatewayAuthScheme"], value: "bearer" },
          { at: ["inferenceModels"], value: [connection.model] },
        ],
      },
      {
        path: library("_meta.json"),
        format: "json",
        settings: [
          { at: ["entries"], by: "id", entry: { id: ENTRY, name: "Laneway" } },
          { at: ["appliedId"], value: ENTRY },
        ],
      },
      // It reads the mode in the folder of the mode that it starts in.
      ...["Claude-3p", "Claude"].map((folder) => ({
        path: folderOf(machine, folder, "claude_desktop_config.json"),
        format: "json" as const,
        settings: [mode],
      })),
    ];
  },
  steps(connection, machine) {
    if (!isServed(machine)) return ["It is for macOS and Windows: connect it there"];
    if (keyVariable(connection) !== undefined) {
      return ["Its settings hold the key itself, not a variable's name: connect it with --key -"];
    }
    const { gateway, model } = connection;
    return [
      ...acceptsAddress(gateway) ? [] : ["It takes http for 127.0.0.1 only: give the gateway an https address"],
      ...isShown(model) ? [] : [
        `Its picker shows only ids with claude or anthropic in them: give ${model} an alias such as claude-${model}`,
      ],
      "Quit the app and start it again; a profile of your organization wins over these files",
      "Chats of this mode are apart from those of the usual one, which --undo brings back",
    ];
  },
};

function isServed({ os }: ClientMachine): boolean {
  return os === "darwin" || os === "windows";
}

function folderOf(machine: ClientMachine, ...steps: string[]): string {
  return machine.os === "windows"
    ? inLocalAppData(machine, ...steps)
    : inHome(machine, "Library", "Application Support", ...steps);
}

function isShown(model: string): boolean {
  return /claude|anthropic/i.test(model);
}

function acceptsAddress(gateway: string): boolean {
  const { protocol, hostname } = new URL(gateway);
  return protocol === "https:" || hostname === "127.0.0.1";
}
