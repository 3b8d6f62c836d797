/** Puts a client's package from npm into a cache folder of the user, once for each version. */

/** The version of Claude Code that the tests run. */
export const CLAUDE_CODE = "@anthropic-ai/claude-code@2.1.329";

/** The version of Codex that the tests run. */
export const CODEX = "@openai/codex@0.169.0";

/** The version of opencode that the tests run. */
export const OPENCODE = "opencode-ai@1.18.33";

/** The version of Gemini CLI that the tests run. */
export const GEMINI_CLI = "@google/gemini-cli@0.61.0";

/** The version of Node that the gateway is tried on. */
export const NODE = "node@24.21.0";

/** The newest version of Node, on which its sandbox is tried. */
export const NODE_NEWEST = "node@26.10.0";

/** The version of OpenAI's SDK whose WebSocket is tried, and what it needs for that on Node. */
export const OPENAI_SDK = ["openai@7.57.0", "ws@8.23.0"];

/** The SDK of Messages whose helper for threads is tried. It takes 3 MB to download. */
export const MESSAGES_SDK = "@anthropic-ai/sdk@1.14.0";

/** The runtime of Workers that the gateway's core is tried on. */
export const WORKERS = "miniflare@4.20260730.0";

/** A client's program, or why there is none. */
export type Installed = { program: string } | { reason: string };

/** Where the program `bin` of the package `spec` is. Without npm, or without a way to its registry, there is none. */
export async function install(spec: string, bin: string): Promise<Installed> {
  const cache = cacheFolder();
  if (!cache) return { reason: "There is no folder for a cache: HOME is not set" };
  const folder = `${cache}/laneway/clients/${spec.replace(/^@/, "").replaceAll("/", "-")}`;
  const program = `${folder}/node_modules/.bin/${bin}`;
  if (await runs(program)) return { program };
  await Deno.mkdir(folder, { recursive: true });
  const failure = await failureOf("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", spec]);
  if (failure !== undefined) return { reason: `Cannot install ${spec}: ${failure}` };
  return await runs(program) ? { program } : { reason: `Cannot run ${program}` };
}

/** A folder in which Node finds these libraries, or why there is none. */
export async function installLibraries(specs: readonly string[]): Promise<{ folder: string } | { reason: string }> {
  const cache = cacheFolder();
  if (!cache) return { reason: "There is no folder for a cache: HOME is not set" };
  const folder = `${cache}/laneway/clients/${specs.join("-").replace(/[^\w.@-]/g, "-")}`;
  const ready = `${folder}/ready`;
  if (await failureOf("test", ["-e", ready]) === undefined) return { folder };
  await Deno.mkdir(folder, { recursive: true });
  const failure = await failureOf("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", ...specs]);
  if (failure !== undefined) return { reason: `Cannot install ${specs.join(", ")}: ${failure}` };
  await Deno.writeTextFile(ready, "");
  return { folder };
}

/** What npm needs to find its registry, to trust it, and to keep what it downloads, wherever HOME is. */
export function registryVariables(): Record<string, string> {
  const names =
    /^(npm_config_(registry|cafile|ca|https?_?proxy|proxy|noproxy|strict_ssl)|node_extra_ca_certs|ssl_cert_\w+|(https?|no)_proxy)$/i;
  const own = Object.entries(Deno.env.toObject()).filter(([name]) => names.test(name));
  const home = Deno.env.get("HOME");
  const files: Record<string, string> = home === undefined
    ? {}
    : { NPM_CONFIG_USERCONFIG: `${home}/.npmrc`, NPM_CONFIG_CACHE: Deno.env.get("npm_config_cache") ?? `${home}/.npm` };
  return { ...files, ...Object.fromEntries(own), NPM_CONFIG_PREFER_OFFLINE: "true" };
}

export function cacheFolder(): string | undefined {
  const home = Deno.env.get("HOME");
  return Deno.env.get("XDG_CACHE_HOME") ?? (home && `${home}/.cache`);
}

async function runs(program: string): Promise<boolean> {
  return await failureOf(program, ["--version"]) === undefined;
}

/** Longer than an installation takes. npm would ask a registry that does not answer for half an hour. */
const LONGEST_MS = 10 * 60_000;

/** What the program said as it failed; nothing where it did not. */
async function failureOf(program: string, args: string[]): Promise<string | undefined> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  try {
    const { success, stderr } = await new Deno.Command(program, { args, stdin: "null", signal }).output();
    if (signal.aborted) return `${program} did not end in ${LONGEST_MS / 60_000} minutes`;
    return success ? undefined : new TextDecoder().decode(stderr).trim();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
