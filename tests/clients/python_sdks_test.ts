/** The vendors' SDKs for Python, in their newest majors: programs that use them, against a gateway with the sandbox. */
import { assertEquals, assertMatch } from "@std/assert";
import { ENV, newApp } from "../support/app.ts";
import { cacheFolder } from "./install.ts";

/** The versions that the tests run. All three take 17 MB to download and 155 MB on the disk. */
const PACKAGES = { openai: "3.57.0", anthropic: "2.14.0", "google-genai": "3.6.1" };

const SCRIPT = new URL("python_sdks.py", import.meta.url).pathname;

async function run(program: string, args: readonly string[]): Promise<{ code: number; text: string; failure: string }> {
  try {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      stdin: "null",
      signal: AbortSignal.timeout(10 * 60_000),
    }).output();
    const [text, failure] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { code, text: text!, failure: failure! };
  } catch (error) {
    return { code: -1, text: "", failure: (error as Error).message };
  }
}

/** A Python that has the packages, in a folder of the cache for each set of versions, or why there is none. */
async function installPython(): Promise<{ python: string } | { reason: string }> {
  const cache = cacheFolder();
  if (!cache) return { reason: "There is no folder for a cache: HOME is not set" };
  const specs = Object.entries(PACKAGES).map(([name, version]) => `${name}==${version}`);
  const folder = `${cache}/laneway/clients/python-${Object.values(PACKAGES).join("-")}`;
  const python = `${folder}/bin/python`;
  const ready = `${folder}/ready`;
  if (await Deno.stat(ready).then(() => true, () => false)) return { python };
  const made = await run("python3", ["-m", "venv", "--clear", folder]);
  if (made.code !== 0) return { reason: `python3 makes no environment: ${lastLine(made.failure || made.text)}` };
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", ...specs];
  const installed = await run(python, pip);
  if (installed.code !== 0) return { reason: `Cannot install ${specs.join(", ")}: ${lastLine(installed.failure)}` };
  await Deno.writeTextFile(ready, "");
  return { python };
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)!.slice(0, 200);
}

const python = await installPython();
const reason = "reason" in python ? python.reason : undefined;

const CONFIG = {
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }],
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: {
    oss: {
      models: Object.fromEntries(
        Object.entries(
          {
            "sandbox": "chat",
            "sandbox-embedding": "embedding",
            "sandbox-speech": "speech",
            "sandbox-transcription": "transcription",
            "sandbox-image": "image",
          } as const,
        ).map(([name, task]) => [name, { task, targets: [{ upstream: "sandbox", model: name }] }]),
      ),
    },
  },
};

for (const [name, version] of Object.entries(PACKAGES)) {
  Deno.test({
    name: `python: ${name} ${version} does all of its work${reason ? ` (skipped: ${reason})` : ""}`,
    ignore: reason !== undefined,
    async fn() {
      const app = newApp({ config: CONFIG });
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => app.fetch(request));
      const address = `http://127.0.0.1:${server.addr.port}/oss`;
      try {
        const { code, text, failure } = await run(
          (python as { python: string }).python,
          [SCRIPT, name, address, ENV.TEAM_KEY!],
        );
        assertEquals(code, 0, failure);
        const results: { name: string; result?: string; failure?: string }[] = text.trim().split("\n").map((line) =>
          JSON.parse(line)
        );
        assertEquals(results.filter(({ failure }) => failure), []);
        assertMatch(results[0]!.result!, new RegExp(`^${version.replaceAll(".", "\\.")}$`));
        assertEquals(results.length > 5, true);
      } finally {
        await server.shutdown();
      }
    },
  });
}
