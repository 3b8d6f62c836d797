import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { html, withSite } from "../support/fetcher.ts";
import { withFolder, withLaunched } from "../support/process.ts";
import { until, within } from "../support/wait.ts";
import { ADDRESSES, FORMS } from "./tricks.ts";

const TOKEN = "a token of more than sixteen characters";
const ignore = Deno.build.os === "windows";

interface Service {
  url: string;
  launcher: Deno.ChildProcess;
  ask(url: unknown, token?: string): Promise<{ status: number; body: Record<string, unknown> }>;
}

function command(folder: string, args: string[], env: Record<string, string>): Deno.Command {
  const launcher = new URL("../../src/cli/launch.ts", import.meta.url).href;
  const options = ["run", "--allow-read", "--allow-env", "--allow-run", "--no-prompt", launcher, ...args];
  return new Deno.Command(Deno.execPath(), {
    args: options,
    cwd: folder,
    env: { LANEWAY_CONFIG: "", NO_COLOR: "1", ...env },
    stdout: "piped",
    stderr: "piped",
  });
}

/** `deno task -q laneway fetcher`, on a free port. */
function withService(allow: string[], use: (service: Service) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const webFetch = { url: "http://127.0.0.1:8100", secret: { env: "FETCHER_TOKEN" }, allow };
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ hostedTools: { webFetch } }));
    const env = {
      FETCHER_TOKEN: TOKEN,
      OTHER_SECRET: "other",
      HTTP_PROXY: "http://127.0.0.1:1",
      HTTPS_PROXY: "http://127.0.0.1:1",
    };
    const launcher = command(folder, ["fetcher", "--port", "0"], env).spawn();
    const stdout = launcher.stdout.text();
    const listening = Promise.withResolvers<string>();
    const reading = (async () => {
      let text = "";
      for await (const piece of launcher.stderr.pipeThrough(new TextDecoderStream())) {
        text += piece;
        const url = /^Fetcher: (\S+)\n/m.exec(text)?.[1];
        if (url) listening.resolve(url);
      }
      listening.reject(new Error(`It never listened: ${text}`));
    })();
    try {
      const url = await listening.promise;
      const ask: Service["ask"] = async (wanted, token = TOKEN) => {
        const response = await fetch(`${url}/fetch`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}` },
          body: JSON.stringify({ url: wanted, maxCharacters: 1_000 }),
        });
        return { status: response.status, body: await response.json() };
      };
      await use({ url, launcher, ask });
    } finally {
      try {
        launcher.kill("SIGTERM");
      } catch {
        // The test has ended it.
      }
      await within(Promise.all([launcher.status, stdout, reading]));
    }
  });
}

/** The fetchers that a launcher has started; behind `npx` it starts another process, too. */
function fetchersOf(launcher: number): number[] {
  return childrenOf(launcher).filter((pid) => {
    try {
      return Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("src/fetcher/main.ts");
    } catch {
      return false; // It has ended meanwhile.
    }
  });
}

/** The processes that a process has started. */
function childrenOf(parent: number): number[] {
  const pids = [...Deno.readDirSync("/proc")].flatMap(({ name }) => /^\d+$/.test(name) ? [Number(name)] : []);
  return pids.filter((pid) => {
    try {
      return Number(Deno.readTextFileSync(`/proc/${pid}/stat`).replace(/^.*\) /, "").split(" ")[1]) === parent;
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

/** A variable of a process, if it has it: behind `npx` the launcher has a child that has none of the gateway's. */
function variable(pid: number, name: string): string | undefined {
  const found = Deno.readTextFileSync(`/proc/${pid}/environ`).split("\0").find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}

const runs = (pid: number) => childrenOf(Deno.pid).includes(pid) || isThere(`/proc/${pid}/fd`);

function isThere(path: string): boolean {
  try {
    return [...Deno.readDirSync(path)].length > 0;
  } catch {
    return false;
  }
}

Deno.test({
  name: "fetcher: the process refuses all that leads inside, and whoever has no token; what is listed it opens",
  ignore,
  async fn() {
    await withSite(() => html("<p>hello from inside"), async ({ origin, asked }) => {
      await withService([origin], async ({ url, ask }) => {
        assertEquals((await (await fetch(`${url}/healthz`)).json()).status, "ok");
        assertEquals((await ask(`${origin}/`, "wrong")).status, 401);
        assertEquals((await ask(`${origin}/`, "")).status, 401);
        assertEquals((await ask(1)).status, 400);
        assertEquals(asked, []);
        for (const address of ADDRESSES) {
          assertEquals([address, (await ask(address)).body.error], [address, "not_allowed"]);
        }
        for (const form of FORMS) {
          const { body } = await ask(form);
          assert(body.error === "not_allowed" || body.error === "invalid_input", `${form}: ${body.error}`);
        }
        assertEquals((await ask("http://localhost/")).body.error, "not_accessible");
        assertEquals((await ask("https://localhost./")).body.error, "not_accessible");
        const { status, body } = await ask(`${origin}/page`);
        assertEquals([status, body.text, body.url], [200, "hello from inside", `${origin}/page`]);
      });
    });
  },
});

Deno.test({
  name:
    "fetcher: it has no secret but its token, and no proxy; killed, it comes back on its port; it ends with its launcher",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await withSite(() => html("<p>hello"), async ({ origin }) => {
      await withService([origin], async ({ launcher, ask }) => {
        const [first] = fetchersOf(launcher.pid);
        const environment = Deno.readTextFileSync(`/proc/${first}/environ`);
        assertStringIncludes(environment, TOKEN);
        assert(!/OTHER_SECRET|_PROXY|FETCHER_TOKEN=.*\0FETCHER_TOKEN=/.test(environment), environment);
        Deno.kill(first!, "SIGKILL");
        await until(() => fetchersOf(launcher.pid).some((pid) => pid !== first));
        await until(() => ask(`${origin}/`).then(({ body }) => body.text === "hello", () => false));
        const [second] = fetchersOf(launcher.pid);
        launcher.kill("SIGKILL");
        await until(() => !runs(second!));
      });
    });
  },
});

Deno.test({
  name: "fetcher: without a place, a secret, or one that is long enough, it does not start",
  ignore,
  async fn() {
    await withFolder(async (folder) => {
      const start = async (webFetch: object, token: string, args: string[] = []) => {
        await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ hostedTools: { webFetch } }));
        const { code, stderr } = await command(folder, ["fetcher", ...args], { FETCHER_TOKEN: token }).output();
        return [code, new TextDecoder().decode(stderr).trim()];
      };
      const secret = { env: "FETCHER_TOKEN" };
      const url = "http://127.0.0.1:8100";
      const needed = 'The configuration needs "hostedTools": { "webFetch": { "url": ..., "secret": { "env": ... } } }';
      assertEquals(await start({}, TOKEN), [1, needed]);
      assertEquals(await start({ url }, TOKEN), [1, needed]);
      assertEquals(await start({ url, secret }, "short"), [1, "Set FETCHER_TOKEN to at least 16 characters"]);
      assertEquals(await start({ url, secret }, TOKEN, ["--hostname", "localhost"]), [
        1,
        'Cannot listen on "localhost": expected an address such as 0.0.0.0',
      ]);
      assertEquals(await start({ url, secret }, TOKEN, ["--prot", "8100"]), [
        2,
        "Unknown option '--prot'; did you mean --port?; --help lists the options",
      ]);
    });
  },
});

for (const killed of ["gateway", "launcher"] as const) {
  Deno.test({
    name: `fetcher: nothing of it is left once the ${killed} is killed, while it reads pages and while it comes back`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      const long = "<p>hello".repeat(2 ** 20);
      await withSite(() => html(long), async ({ origin, asked }) => {
        for (const isBack of [true, false]) {
          await withFolder(async (folder) => {
            const config = {
              extends: "default",
              store: { kind: "memory" },
              hostedTools: { webFetch: { allow: [origin] } },
            };
            await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
            await withLaunched([], { cwd: folder }, async ({ pid, kill, ended }) => {
              const [fetcher] = fetchersOf(pid);
              const [gateway, url] = childrenOf(pid).flatMap((child) => {
                const found = variable(child, "LANEWAY_FETCHER_URL");
                return found === undefined ? [] : [[child, found] as const];
              })[0]!;
              const headers = { authorization: `Bearer ${variable(gateway, "LANEWAY_FETCHER_TOKEN")}` };
              const body = JSON.stringify({ url: `${origin}/`, maxCharacters: 1_000 });
              const pages = Array.from(
                { length: 8 },
                () =>
                  fetch(`${url}/fetch`, { method: "POST", headers, body }).then(
                    (response) => response.text(),
                    () => "",
                  ),
              );
              const before = asked.length;
              await until(() => asked.length > before);
              if (isBack) {
                Deno.kill(fetcher!, "SIGKILL");
                await until(() => fetchersOf(pid).some((one) => one !== fetcher));
              }
              const all = childrenOf(pid);
              if (killed === "gateway") Deno.kill(gateway, "SIGKILL");
              else kill("SIGKILL");
              await within(ended);
              await until(() => all.every((child) => !runs(child)));
              await Promise.all(pages);
            });
          });
        }
      });
    },
  });
}

/** A model that opens the page that it was asked about, and then says what stands there. */
function model(origin: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const { messages, tools } = await request.json();
    const last = messages.at(-1);
    const call = { name: tools?.[0]?.function.name ?? "", arguments: JSON.stringify({ url: `${origin}/page` }) };
    const message = last.role === "tool"
      ? { role: "assistant", content: `It says: ${last.content}` }
      : { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: call }] };
    const finish_reason = last.role === "tool" ? "stop" : "tool_calls";
    return Response.json({
      id: "x",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  };
}

Deno.test({
  name: "fetcher: beside a gateway it opens pages for models, also after it was killed, and it ends with the gateway",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await withSite(() => html("<p>The answer is 42"), async (site) => {
      await withSite(model(site.origin), async (upstream) => {
        await withFolder(async (folder) => {
          const config = {
            upstreams: { fake: { driver: "chat", baseUrl: upstream.origin } },
            lanes: { oss: { models: { m: { task: "chat", targets: [{ upstream: "fake", model: "m" }] } } } },
            store: { kind: "memory" },
            hostedTools: { webFetch: { allow: [site.origin] } },
          };
          await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
          await withLaunched([], { cwd: folder }, async ({ url, pid, kill, ended }) => {
            const ask = async () => {
              const response = await fetch(`${url}/oss/v1/messages`, {
                method: "POST",
                headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" },
                body: JSON.stringify({
                  model: "m",
                  max_tokens: 100,
                  messages: [{ role: "user", content: `What stands at ${site.origin}/page ?` }],
                  tools: [{ type: "web_fetch_20250910", name: "web_fetch" }],
                }),
              });
              return JSON.stringify(await response.json());
            };
            assertStringIncludes(await ask(), "The answer is 42");
            const fetcher = childrenOf(pid).find((child) =>
              Deno.readTextFileSync(`/proc/${child}/cmdline`).includes("src/fetcher/main.ts")
            )!;
            Deno.kill(fetcher, "SIGKILL");
            assertStringIncludes(await ask(), "The answer is 42");
            const next = childrenOf(pid);
            kill("SIGTERM");
            assertEquals(await within(ended), 0);
            await until(() => next.every((child) => !runs(child)));
          });
        });
      });
    });
  },
});
