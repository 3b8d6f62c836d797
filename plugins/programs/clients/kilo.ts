import type { Client } from "../../../src/contract/client.ts";
import { inConfig } from "./place.ts";
import { opencodeSettings } from "./opencode.ts";

/** A fork of opencode, whose settings it shares by their names. */
export const kilo: Client = {
  name: "kilo",
  title: "Kilo",
  agents: ["Kilo-Code"],
  wire: "chat",
  program: "kilo",
  files(connection, machine) {
    const [plain, commented] = ["kilo.json", "kilo.jsonc"].map((name) => inConfig(machine, "kilo", name));
    return [{
      path: machine.isThere(plain!) && !machine.isThere(commented!) ? plain! : commented!,
      format: "jsonc",
      settings: opencodeSettings(connection, "https://app.kilo.ai/config.json"),
    }];
  },
  overriddenBy: ["KILO_CONFIG", "KILO_CONFIG_CONTENT"],
  proof: { args: ({ model }, prompt) => ["run", "-m", `laneway/${model}`, prompt] },
};
