/** The forms of the console: their edits of the configuration's text, its entries, and tests of its upstreams. */
import embedded from "../../gateway.default.json" with { type: "json" };
import { builtIn } from "../app.ts";
import { asObject, type JsonObject } from "../canonical/json.ts";
import type { Problem } from "../config/check.ts";
import type { ConfigurationEntries, Edit, TestedUpstream } from "../context/console.ts";
import type { Platform } from "../platform/platform.ts";
import { FormatError } from "../programs/connect/formats/format.ts";
import { withEdits } from "../programs/init/edits.ts";
import { START } from "../programs/init/plan.ts";
import { mergeJson, withoutComments, withPresets } from "../util/config_text.ts";

type Edited = { text: string } | { problems: readonly Problem[] };

export function editedText(text = START, edits: readonly Edit[]): Edited {
  try {
    JSON.parse(withoutComments(text.replace(/^\ufeff/, "")));
    return { text: withEdits(text, edits) };
  } catch (error) {
    if (error instanceof FormatError) return { problems: [{ path: "", message: error.message }] };
    if (!(error instanceof SyntaxError)) throw error;
    const message = "The file has errors: correct it as text in Configuration first";
    return { problems: [{ path: "", message }] };
  }
}

/** Throws a `SyntaxError`. */
export function entriesOf(text = START): ConfigurationEntries {
  const own = asObject(JSON.parse(withoutComments(text.replace(/^\ufeff/, ""))));
  const base: JsonObject = own.extends === "default" ? embedded : {};
  const whole = asObject(mergeJson(base, withPresets(own, () => builtIn.providers)));
  return { own: sectionsOf(own), builtIn: sectionsOf(base), whole: sectionsOf(whole) };
}

function sectionsOf({ upstreams = {}, lanes = {} }: JsonObject): JsonObject {
  return { upstreams, lanes };
}

/** `file`: the configuration. */
export async function testUpstream(name: string, file: string, platform: Platform): Promise<TestedUpstream> {
  const { env, isGranted, readText } = platform;
  const permitted: Platform = {
    ...platform,
    env: (variable) => isGranted({ name: "env", variable }) ? env(variable) : undefined,
    readText(path) {
      if (isGranted({ name: "read", path })) return readText(path);
      throw Object.assign(new Error(`There is no permission to read ${path}`), { code: "ENOENT" });
    },
  };
  // Forms are opened more often than upstreams are tested.
  const { checkSource } = await import("../programs/init/check_source.ts");
  const found = await checkSource({ kind: "upstream", name }, {
    path: file,
    program: { platform: permitted, plugins: {} },
  });
  return found.ok ? { ok: true, models: found.models, ...found.remark && { remark: found.remark } } : found;
}
