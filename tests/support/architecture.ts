/** The rules of the house, as a function on a file's path and text, so that they can be tested themselves. */

const LAYERS = ["canonical", "contract", "http", "config", "lanes", "upstream", "state", "observe", "tokens"];
/** What each place may import, besides itself. `src/errors.ts` is below everything. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  "src/errors.ts": [],
  "src/canonical": ["src/errors.ts"],
  "src/contract": ["src/errors.ts", "src/canonical"],
  "src/http": ["src/errors.ts", "src/canonical", "src/contract"],
  "src/config": ["src/errors.ts", "src/canonical", "src/contract"],
  "src/lanes": ["src/errors.ts", "src/canonical", "src/contract"],
  "src/upstream": ["src/errors.ts", "src/canonical", "src/contract"],
  "src/state": ["src/errors.ts", "src/canonical", "src/contract"],
  "src/observe": ["src/errors.ts", "src/canonical", "src/contract"],
  "src/tokens": ["src/errors.ts", "src/canonical", "src/contract"],
  "src/journey": ["src/errors.ts", ...LAYERS.map((layer) => `src/${layer}`)],
  "src/handle.ts": ["src/errors.ts", ...LAYERS.map((layer) => `src/${layer}`), "src/journey"],
  "src/catalogs.ts": [
    "src/errors.ts",
    ...["contract", "config", "lanes", "tokens", "upstream"].map((layer) => `src/${layer}`),
  ],
  "src/app.ts": [
    "src/errors.ts",
    ...LAYERS.map((layer) => `src/${layer}`),
    "src/journey",
    "src/catalogs.ts",
    "src/handle.ts",
    "plugins/mod.ts",
  ],
  "src/reload.ts": ["src/errors.ts", "src/canonical", "src/config"],
  "src/keys.ts": ["src/errors.ts", "src/canonical", "src/state"],
  "src/terminal.ts": [],
  "src/startup.ts": ["src/errors.ts", "src/canonical", "src/config"],
  "src/catalog_file.ts": ["src/errors.ts", "src/config", "src/state", "src/app.ts"],
  "src/main.ts": [
    "src/errors.ts",
    ...LAYERS.map((layer) => `src/${layer}`),
    "src/handle.ts",
    "src/app.ts",
    "src/catalog_file.ts",
    "src/keys.ts",
    "src/reload.ts",
    "src/startup.ts",
    "src/terminal.ts",
  ],
  "plugins/endings.ts": ["src/canonical"],
  "plugins/errors.ts": ["src/errors.ts", "src/canonical", "src/contract", "plugins/overflow.ts", "plugins/refusals.ts"],
  "plugins/families.ts": ["src/errors.ts", "src/canonical", "src/contract"],
  "plugins/overflow.ts": [],
  "plugins/refusals.ts": ["src/errors.ts", "src/canonical", "src/contract"],
  "plugins/shapes.ts": ["src/errors.ts", "src/canonical", "src/contract"],
  "plugins/voices.ts": ["src/errors.ts", "src/canonical", "src/contract"],
};
const PLUGIN_MAY_IMPORT = [
  "src/errors.ts",
  "src/canonical",
  "src/contract",
  "plugins/endings.ts",
  "plugins/errors.ts",
  "plugins/families.ts",
  "plugins/overflow.ts",
  "plugins/refusals.ts",
  "plugins/shapes.ts",
  "plugins/voices.ts",
];

/** The verbs of a wire that is spoken to clients and to upstreams: one file each, in one folder. */
export const VERBS = [
  "parse_request",
  "serialize_request",
  "parse_response",
  "serialize_response",
  "parse_stream",
  "serialize_stream",
] as const;

/**
 * Makers and models that `src/` may not name. Names that are English words too (`together`, `replicate`, `fireworks`)
 * count where they stand as a value or as a host; the editor called Cursor is left out, because streams have cursors.
 */
const VENDORS = new RegExp(
  [
    "open[-_ ]?ai(?!re)",
    "anthropic",
    "claude",
    "codex",
    "chatgpt",
    "gpt-",
    "hugging[-_ ]?face",
    "\\bhf_",
    "o?llama",
    "vllm",
    "sglang",
    "mi[sx]tral",
    "qwen",
    "deepseek",
    "moonshot",
    "\\bkimi\\b",
    "minimax",
    "gemini\\b",
    "gemma",
    "google",
    "\\bcohere\\b",
    "\\bjina\\b",
    "\\bvoyage(ai)?\\b",
    "\\bgroq\\b",
    "cerebras",
    "deepinfra",
    "fal[-.]ai",
    "openrouter",
    "lm[-_ ]?studio",
    "\\bzed\\b",
    "opencode",
    "\\bcline\\b",
    "\\broo[-_ ]code\\b",
    "\\bazure\\b",
    "\\bbedrock\\b",
    "together(\\.(ai|xyz)|[-_ ]?ai\\b)",
    "replicate\\.com",
    "fireworks[-.]ai",
    "[\"'`](together|replicate|fireworks|cursor)[\"'`]",
  ].join("|"),
  "i",
);

/** Every rule that the file breaks, as sentences that begin with its path. Paths are below the repository's root. */
export function violations(path: string, text: string): string[] {
  const found: string[] = [];
  const say = (sentence: string) => found.push(`${path} ${sentence}`);
  if (/\.json$/.test(path)) {
    for (const name of vendorsIn(text)) say(`names a vendor: "${name}"`);
    return found;
  }
  const place = placeOf(path);
  const allowed = place.startsWith("plugins/") && !(place in MAY_IMPORT) ? PLUGIN_MAY_IMPORT : MAY_IMPORT[place];
  if (place === "plugins/mod.ts") {
    // The lists: it names every plugin and nothing else needs it but `src/app.ts`.
  } else if (!allowed) {
    say("has no place in the tree");
  } else {
    for (const target of importedFiles(path, text)) {
      const home = placeOf(target);
      // The repository's own data: the version, the default configuration.
      if (path.startsWith("src/") && /^[^/]+\.json$/.test(target)) continue;
      if (home !== place && !allowed.includes(home)) say(`imports ${target}`);
    }
  }
  for (const argument of dynamicImports(text)) {
    if (!/^(["'])[^"'`]*\1$/.test(argument)) say(`imports what a variable names: import(${argument})`);
  }
  if (path.startsWith("src/")) {
    for (const name of vendorsIn(text)) say(`names a vendor: "${name}"`);
  } else {
    for (
      const [word] of withoutComments(text).matchAll(/\bfetch\s*\(|\bDeno\b|\bconsole\b|\bprocess\.|\bWebSocket\b/g)
    ) {
      say(`touches the world: ${word}`);
    }
  }
  return found;
}

/** `src/http/body.ts` is at `src/http`, `plugins/chat/wire.ts` at `plugins/chat`, `src/handle.ts` at itself. */
function placeOf(path: string): string {
  const steps = path.split("/");
  return steps.length > 2 ? steps.slice(0, 2).join("/") : path;
}

/** The files that a module imports or exports from, as paths below the root; packages are not files. */
function importedFiles(path: string, text: string): string[] {
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*(["'])(\.[^"']*)\1/g)].map((match) => match[2]!);
  return specifiers.map((specifier) => new URL(specifier, `file:///${path}`).pathname.slice(1));
}

function dynamicImports(text: string): string[] {
  return [...withoutComments(text).matchAll(/\bimport\s*\(([^)]*?),?\s*\)/g)].map((match) => match[1]!.trim());
}

function vendorsIn(text: string): string[] {
  return [...text.matchAll(new RegExp(VENDORS, "gi"))].map((match) => match[0]);
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}
