/** The OpenAI library, with which programs call several endpoints. */
import type { ClientLibrary, LibraryCode } from "../../src/contract/description.ts";

/** The parts of a program that are the same for all endpoints. */
const COMMON = {
  python: {
    install: "pip install openai",
    import: "from openai import OpenAI",
    client: "OpenAI(base_url=$base, api_key=$key)",
  },
  typescript: {
    install: "npm install openai",
    import: 'import OpenAI from "openai";',
    client: "new OpenAI({ baseURL: $base, apiKey: $key })",
  },
};

type Own = Omit<LibraryCode, "install" | "import" | "client">;

/** `fields`: their names, with spaces between. */
export function openaiLibrary(
  path: string,
  fields: string,
  { python, typescript }: { python: Own; typescript: Own },
): ClientLibrary {
  return {
    path,
    keyHeader: "authorization",
    fields: fields.split(/\s+/),
    python: { ...COMMON.python, ...python },
    typescript: { ...COMMON.typescript, ...typescript },
  };
}
