import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { GATEWAY_ENV, gatewayArgs, statusOf } from "./support/gateway_process.ts";
import { withFolder } from "./support/process.ts";
import { until, within } from "./support/wait.ts";

const ROOT = new URL("../", import.meta.url);
const { version } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT)));

function command(args: string[], cwd: string | URL = ROOT): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: gatewayArgs(args),
    cwd,
    env: GATEWAY_ENV,
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs the command line to its end. */
async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await command(args).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

interface Gateway {
  url: string;
  message: string;
  kill(signal: Deno.Signal): void;
  /** What it said after the start-up message, once it has ended. */
  ended: Promise<{ code: number; stderr: string; log: string }>;
}

/** Starts the gateway on a free port, calls `use` once it serves, and ends it if `use` has not. */
async function withGateway(
  args: string[],
  use: (gateway: Gateway) => Promise<void> | void,
  cwd: string | URL = ROOT,
): Promise<void> {
  const child = command(["--port", "0", ...args], cwd).spawn();
  const log = child.stdout.text();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let message = "";
  while (!message.endsWith("\n") || !message.includes("Keys: ")) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The gateway did not start: ${message}`);
    message += value;
  }
  const url = message.match(/http:\/\/\S+/)![0];
  const rest = (async () => {
    let text = "";
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    return text;
  })();
  let running = true;
  const ended = (async () => {
    const { code } = await child.status;
    running = false;
    return { code, stderr: await rest, log: await log };
  })();
  try {
    await use({ url, message, kill: (signal) => child.kill(signal), ended });
  } finally {
    if (running) child.kill("SIGKILL");
    await ended;
  }
}

/** A chat upstream that sends one word, and the rest when it is told to. */
function slowUpstream(): { baseUrl: string; finish(): void; stop(): Promise<void> } {
  const { promise: printed, resolve: finish } = Promise.withResolvers<void>();
  const chunk = (choice: object) => {
    const choices = [{ index: 0, ...choice }];
    return `data: ${
      JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "slow", choices })
    }\n\n`;
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () =>
    new Response(
      ReadableStream.from(async function* () {
        yield chunk({ delta: { role: "assistant", content: "slow" } });
        await printed;
        yield chunk({ delta: { content: " but sure" } }) + chunk({ delta: {}, finish_reason: "stop" }) +
          "data: [DONE]\n\n";
      }()).pipeThrough(new TextEncoderStream()),
      { headers: { "content-type": "text/event-stream" } },
    ));
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1`,
    finish,
    async stop() {
      finish();
      await server.shutdown();
    },
  };
}

/** Starts the gateway before a slow upstream, and a streamed request that has its first word. */
async function withSlowRequest(
  use: (gateway: Gateway, rest: Promise<string>, finish: () => void) => Promise<void>,
  more: object = {},
): Promise<void> {
  const upstream = slowUpstream();
  const path = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(
      path,
      JSON.stringify({
        upstreams: { slow: { driver: "chat", baseUrl: upstream.baseUrl } },
        lanes: { oss: { upstreams: { chat: "slow" } } },
        ...more,
      }),
    );
    await withGateway(["--config", path], async (gateway) => {
      const response = await fetch(`${gateway.url}/oss/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "slow", stream: true, messages: [{ role: "user", content: "Hello" }] }),
      });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while (!text.includes('"slow"}')) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`The stream did not begin: ${text}`);
        text += value;
      }
      const rest = (async () => {
        for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
        return text;
      })();
      await use(gateway, rest, upstream.finish);
    });
  } finally {
    await Deno.remove(path);
    await upstream.stop();
  }
}

/** Whether the port still takes connections. */
async function accepts(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  try {
    (await Deno.connect({ hostname, port: Number(port) })).close();
    return true;
  } catch {
    return false;
  }
}

Deno.test("main: starts on a free port, serves, tells balancers that it stops, and ends well", async () => {
  await withGateway([], async ({ url, message, kill, ended }) => {
    assertStringIncludes(message, `Laneway ${version} serves http://127.0.0.1:`);
    assertStringIncludes(message, "Configuration: the built-in default");
    assertStringIncludes(message, "export HF_TOKEN=...");
    assertEquals([await statusOf(`${url}/healthz`), await statusOf(`${url}/readyz`)], [200, 200]);
    kill("SIGTERM");
    await until(async () => await statusOf(`${url}/readyz`) === 503);
    assertEquals(await statusOf(`${url}/healthz`), 200);
    const { code, stderr } = await ended;
    assertEquals(code, 0);
    assertStringIncludes(stderr, "SIGTERM");
  });
});

Deno.test("main: finds gateway.json in the current folder, else uses the copy that it carries", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await withGateway(
      [],
      ({ message }) => assertStringIncludes(message, "Configuration: the built-in default"),
      folder,
    );
    const upstreams = { here: { driver: "sandbox" } };
    const lanes = { mine: { upstreams: { chat: "here" } } };
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ upstreams, lanes }));
    await withGateway([], ({ message }) => {
      assertStringIncludes(message, 'Configuration: "gateway.json"');
      assertMatch(message, /^ {2}mine {2}http/m);
    }, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("main: the calls of the start-up message work as they stand", async () => {
  await withGateway([], async ({ message }) => {
    const calls = message.split("\n").filter((line) => line.startsWith("  curl "));
    assertEquals(calls.length, 2);
    for (const [index, call] of calls.entries()) {
      const [, address, type, body] = call.match(/(http:\S+) -H '([^']+)' -d '(.+)'$/)!;
      const [name, value] = type!.split(": ");
      const response = await fetch(address!, { method: "POST", headers: { [name!]: value! }, body: body! });
      assertEquals(response.status, 200);
      const text = await response.text();
      assert(index === 0 ? JSON.parse(text).choices[0].message.content : text.endsWith("data: [DONE]\n\n"), text);
    }
  });
});

Deno.test("main: SIGINT refuses new connections and lets a running stream come to its end", async () => {
  await withSlowRequest(async ({ url, kill, ended }, rest, finish) => {
    kill("SIGINT");
    await until(async () => !await accepts(url));
    finish();
    assertStringIncludes(await rest, "but sure");
    assert((await rest).endsWith("data: [DONE]\n\n"));
    const { code, log } = await ended;
    assertEquals(code, 0);
    // The last request's line is out before the process ends.
    assertEquals(log.trim().split("\n").map((line) => JSON.parse(line).status), [200]);
  });
});

Deno.test("main: a second signal aborts what still runs, and the client is told", async () => {
  await withSlowRequest(async ({ url, kill, ended }, rest) => {
    kill("SIGINT");
    await until(async () => !await accepts(url));
    // Signals close to each other are one; this is longer.
    await new Promise((resolve) => setTimeout(resolve, 300));
    kill("SIGINT");
    // The drain has a limit, which would abort it, too.
    assertStringIncludes(await within(rest), '"error"');
    assertEquals((await ended).code, 1);
  });
});

Deno.test("main: the configuration says how long a stream may go on, and for how long balancers are told", async () => {
  await withSlowRequest(async ({ url, kill, ended }, rest) => {
    kill("SIGTERM");
    await until(async () => await statusOf(`${url}/readyz`) === 503);
    // Within the notice everybody is served, however long it is.
    assertEquals(await statusOf(`${url}/healthz`), 200);
    await new Promise((resolve) => setTimeout(resolve, 300));
    kill("SIGINT");
    await within(rest);
    assertEquals((await ended).code, 1);
  }, { stop: { noticeMs: 600_000 } });
  await withSlowRequest(async ({ kill, ended }, rest) => {
    kill("SIGTERM");
    // The default is longer than this.
    assertStringIncludes(await within(rest), '"error"');
    assertEquals((await ended).code, 1);
  }, { stop: { noticeMs: 0, drainMs: 100 } });
});

Deno.test("main: a signal that comes twice at once, as from a terminal and a task runner, is one", async () => {
  await withSlowRequest(async ({ url, kill, ended }, rest, finish) => {
    kill("SIGINT");
    kill("SIGTERM");
    await until(async () => !await accepts(url));
    finish();
    assert((await rest).endsWith("data: [DONE]\n\n"));
    assertEquals((await ended).code, 0);
  });
});

Deno.test("main: a port in use is one clear line", async () => {
  const other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = other.addr;
  const { code, stderr } = await run("--port", String(port));
  other.close();
  assertEquals(code, 1);
  assertEquals(
    stderr,
    `Cannot listen on 127.0.0.1 port ${port}: the port is in use; choose another with --port\n`,
  );
});

Deno.test("main: --help lists every option, --version is the version alone", async () => {
  const help = await run("--help");
  assertEquals([help.code, help.stderr], [0, ""]);
  for (const option of ["--config", "--hostname", "--port", "--help", "--version"]) {
    assertStringIncludes(help.stdout, option);
  }
  assertEquals(await run("--version"), { code: 0, stdout: `${version}\n`, stderr: "" });
});

Deno.test("main: a program that waits for run() goes on at once: a module that waits makes streams dearer", async () => {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  const main = new URL("src/main.ts", ROOT).href;
  await Deno.writeTextFile(
    entry,
    `import { run } from "${main}";\nawait run();\nconsole.log("its module has ended");\n`,
  );
  const config = new URL("deno.json", ROOT).pathname;
  const args = ["run", "--quiet", "--allow-all", "--config", config, entry, "--version"];
  const { code, stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  await Deno.remove(entry);
  assertEquals(code, 0);
  assertEquals(new TextDecoder().decode(stdout).split("\n").toSorted(), ["", version, "its module has ended"]);
});

for (
  const [args, complaint] of [
    [["--prot", "1"], "Unknown option '--prot'; did you mean --port?"],
    [["--bogus"], "Unknown option '--bogus'"],
    [["docter"], 'Unknown command "docter"; did you mean "doctor"?'],
    [["--port"], "Option '--port <value>' argument missing"],
    [["--port", "http"], 'Cannot use port "http": expected a number from 0 to 65535'],
    [["--port", "65536"], 'Cannot use port "65536": expected a number from 0 to 65535'],
  ] as const
) {
  Deno.test(`main: "${args.join(" ")}" is a mistake of the command line`, async () => {
    const { code, stdout, stderr } = await run(...args);
    assertEquals({ code, stdout, stderr }, { code: 2, stdout: "", stderr: `${complaint}; --help lists the options\n` });
  });
}

Deno.test("main: a configuration that cannot be used is told line by line", async () => {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(path, '{ "listn": {}, "limits": 1, "lanes": { "oss": { "upstreams": { "chat": "x" } } } }');
  const { code, stderr } = await run("--config", path);
  await Deno.remove(path);
  assertEquals(code, 1);
  const [head, ...lines] = stderr.trimEnd().split("\n");
  assertEquals(head, `Cannot use the configuration in "${path}":`);
  assertEquals(lines.length, 3);
  assertMatch(stderr, /^ {2}listn: Unknown setting; did you mean "listen"\?$/m);
  assertMatch(stderr, /^ {2}limits: Expected an object, got 1$/m);
  assertMatch(stderr, /^ {2}lanes\.oss\.upstreams\.chat: Cannot find upstream "x"$/m);
});

Deno.test("main: validate tells whether a file can be used, and which variables are not set, without a gateway", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/mine.jsonc`;
    const upstreams = { up: { driver: "chat", baseUrl: "https://up.test/v1", secret: { env: "NO_SUCH_SECRET" } } };
    await Deno.writeTextFile(
      path,
      `// mine\n${JSON.stringify({ upstreams, lanes: { oss: { upstreams: { chat: "up" } } } })}`,
    );
    assertEquals(await run("validate", path), {
      code: 0,
      stdout: `The configuration in "${path}" is valid: 1 lane, 1 upstream, 0 keys\nNot set here: NO_SUCH_SECRET\n`,
      stderr: "",
    });
    await Deno.writeTextFile(path, '{ "lanes": { "oss": {} }, "upstream": {}, }');
    const { code, stdout, stderr } = await run("validate", path);
    assertEquals([code, stdout], [1, ""]);
    assertStringIncludes(stderr, 'upstream: Unknown setting; did you mean "upstreams"?');
    assertEquals((await run("validate", `${folder}/none.json`)).code, 1);
    assertStringIncludes((await run("validate", path, "again")).stderr, 'Unexpected argument "again"');
  });
});

Deno.test("main: permissions prints what a container has to allow, as a shell reads it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "it's mine, " });
  try {
    const path = `${folder}/gateway.json`;
    const upstreams = { up: { driver: "chat", baseUrl: "https://up.test/v1" } };
    const store = { path: `${folder}/data/store.sqlite3` };
    await Deno.writeTextFile(path, JSON.stringify({ upstreams, store, lanes: { oss: { upstreams: { chat: "up" } } } }));
    const { code, stdout, stderr } = await run("permissions", "--config", path, "--port", "9000");
    assertEquals([code, stderr], [0, ""]);
    const output = await new Deno.Command("sh", { args: ["-c", `printf '%s\n' ${stdout}`] }).output();
    const options = new TextDecoder().decode(output.stdout).trimEnd().split("\n");
    const written = `${folder}/data/`.replaceAll(",", ",,");
    assertEquals(options.filter((option) => /^--allow-(net|write|run)/.test(option)), [
      "--allow-net=127.0.0.1:9000,up.test:443",
      `--allow-write=${written}`,
    ]);
    assert(options.includes("--no-prompt") && !options.includes("--allow-all"), stdout);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("main: does not open itself to the network without keys", async () => {
  const { code, stderr } = await run("--hostname", "0.0.0.0", "--port", "0");
  assertEquals(code, 1);
  assertStringIncludes(stderr, "listen.hostname: Cannot listen on");
  assertStringIncludes(stderr, "LANEWAY_KEY");
});
