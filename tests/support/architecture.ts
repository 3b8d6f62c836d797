/** The rules of the house, as a function on a file's path and text, so that they can be tested themselves. */
import type { Driver } from "../../src/contract/driver.ts";
import type { AnyProtocol } from "../../src/contract/protocol.ts";

/** The layers, lowest first: a file imports from its own folder and from layers below it. */
export const LAYERS: readonly (readonly string[])[] = [
  ["src/util", "src/std"],
  ["src/platform"],
  ["src/errors.ts"],
  ["src/canonical"],
  ["src/contract"],
  ["src/transforms", "src/relaxations"],
  ["src/plugin.ts"],
  ["src/config"],
  ["http", "lanes", "routing", "upstream", "state", "tokens", "observe"].map((name) => `src/${name}`),
  ["src/hosted"],
  ["src/context"],
  ["src/console"],
  ["src/inference"],
  ["src/socket", "src/pages"],
  ["src/endpoints"],
  ["src/handle.ts"],
  ["src/compose"],
  ["src/app.ts"],
  ["src/programs"],
  ["src/cli"],
  ["src/main.ts", "src/node.ts"],
  ["src/fetcher"],
  ["src/interpreter"],
];
/** Programs of their own: they share the ground floor with the gateway, and nothing of the gateway needs them. */
const OPEN_TO_PROCESSES = ["src/util", "src/platform", "src/canonical"];
/** The folders that plugins may import besides their own. */
const OPEN_TO_PLUGINS = [
  ...LAYERS.slice(0, 6).flat().filter((layer) => layer !== "src/platform" && layer !== "src/std"),
  "plugins/shared",
];

/** Data that the gateway itself does without. */
const OPEN_TO_PROGRAMS = ["plugins/programs"];

/** The folders that a file at `place` may import besides its own. `undefined` if the tree has no such place. */
function openTo(place: string): readonly string[] | undefined {
  if (place.startsWith("plugins/")) return place.split(".").length > 1 ? undefined : OPEN_TO_PLUGINS;
  if (place === "src/fetcher" || place === "src/interpreter") return OPEN_TO_PROCESSES;
  const layer = LAYERS.findIndex((layer) => layer.includes(place));
  if (layer < 0) return undefined;
  const below = LAYERS.slice(0, layer).flat();
  if (place === "src/app.ts") return [...below, "plugins/mod.ts"];
  return place === "src/programs" ? [...below, ...OPEN_TO_PROGRAMS] : below;
}

/** Where what only Deno has may stand. All else is web standards, and modules of `node:` that every runtime has. */
const DENO_ONLY = /^src\/(platform\/|(cli|programs)\/|state\/kv_)/;

/** The verbs of a wire, in a file each: those of clients where a protocol speaks it, those of upstreams where a driver does. */
export function verbsOf(
  wire: string,
  protocols: readonly Pick<AnyProtocol, "wire" | "stream" | "client">[],
  drivers: readonly Pick<Driver, "wire" | "operations">[],
): string[] {
  const spoken = protocols.filter((protocol) => protocol.wire === wire);
  const ways = drivers.filter((driver) => driver.wire === wire).flatMap(({ operations }) => Object.values(operations));
  const isAsked = spoken.some(({ client }) => client);
  return [
    ...(isAsked ? ["serialize_request", "parse_stream"] : []),
    ...(spoken.length > 0 ? ["parse_request", "serialize_response"] : []),
    ...(spoken.some(({ stream }) => stream) ? ["serialize_stream"] : []),
    ...(ways.length > 0 ? ["parse_response", "serialize_request"] : []),
    ...(ways.some((way) => "stream" in way && way.stream) ? ["parse_stream"] : []),
  ].sort();
}

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
    // The data of plugins is about vendors.
    if (path.startsWith("src/")) { for (const name of vendorsIn(text)) say(`names a vendor: "${name}"`); }
    return found;
  }
  const place = placeOf(path);
  const allowed = openTo(place);
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
    if (!DENO_ONLY.test(path) && /\bDeno\b/.test(withoutComments(text))) say("needs Deno");
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

/** Files that import each other, directly or by way of others, types included: each group is one knot. */
export function importCycles(textOf: ReadonlyMap<string, string>): string[][] {
  const importsOf = new Map([...textOf].map(([path, text]) => [path, importedFiles(path, text)]));
  const reachable = (start: string): Set<string> => {
    const seen = new Set<string>();
    const open = [...importsOf.get(start) ?? []];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (seen.has(path)) continue;
      seen.add(path);
      open.push(...importsOf.get(path) ?? []);
    }
    return seen;
  };
  const reach = new Map([...textOf.keys()].map((path) => [path, reachable(path)]));
  const knots = new Map<string, string[]>();
  for (const [path, reached] of reach) {
    if (!reached.has(path)) continue;
    const knot = [...reached].filter((other) => reach.get(other)?.has(path)).sort();
    knots.set(knot.join(), knot);
  }
  return [...knots.values()];
}

/** The files that a module imports or exports from, as paths below the root; packages are not files. */
function importedFiles(path: string, text: string): string[] {
  const specifiers = [...withoutComments(text).matchAll(/\b(?:from|import)\s*\(?\s*(["'])(\.[^"']*)\1/g)].map((match) =>
    match[2]!
  );
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
