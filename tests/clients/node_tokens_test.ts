/** Token counts on Node: the thread that counts is a process of its own there, because Node confines no thread. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ConfigInput } from "../support/app.ts";
import { until } from "../support/wait.ts";
import { filesOf } from "../tokens/tiny_tokenizer.ts";
import { install, NODE, NODE_NEWEST } from "./install.ts";
import { withNodeGateway, withProgram } from "./node_gateway.ts";

const HELLO = { model: "model", messages: [{ role: "user", content: "hello" }] };
const HELLO_TOKENS = 3 + 1 + "user\n".length + "\n".length + "assistant\n".length;

/** A hub with the files of one model. */
function serveHub() {
  const { vocabulary, settings, template } = filesOf();
  const files: Record<string, Uint8Array<ArrayBuffer> | undefined> = {
    "tokenizer.json": vocabulary as Uint8Array<ArrayBuffer>,
    "tokenizer_config.json": settings as Uint8Array<ArrayBuffer> | undefined,
    "chat_template.jinja": template as Uint8Array<ArrayBuffer> | undefined,
  };
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const file = files[new URL(request.url).pathname.replace("/org/model/resolve/main/", "")];
    return file ? new Response(file) : new Response("Not found", { status: 404 });
  });
}

/** The command line of a process, and those of the processes that it started. */
async function processesBelow(pid: number): Promise<{ pid: number; line: string }[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-e", "-o", "pid=,ppid=,args="] }).output();
  return new TextDecoder().decode(stdout).split("\n").flatMap((line) => {
    const [, own, parent, rest = ""] = /^ *(\d+) +(\d+) (.*)/.exec(line) ?? [];
    return Number(parent) === pid ? [{ pid: Number(own), line: rest }] : [];
  });
}

for (const spec of [NODE, NODE_NEWEST]) {
  const installed = await install(spec, "node");
  Deno.test({
    name: `${spec}: tokens are counted as the model does, by a process that may do nothing and may be killed${
      "reason" in installed ? ` (skipped: ${installed.reason})` : ""
    }`,
    ignore: "reason" in installed || Deno.build.os !== "linux",
    async fn() {
      if ("reason" in installed) return;
      const hub = serveHub();
      const baseUrl = `http://127.0.0.1:${hub.addr.port}`;
      const config: ConfigInput = {
        upstreams: { server: { driver: "chat", baseUrl: `${baseUrl}/v1`, tokenizers: "hub" } },
        catalogs: { hub: { plugin: "hub", baseUrl, secret: { env: "UPSTREAM_SECRET" } } },
        lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "server", model: "org/model" }] } } } },
        store: { kind: "memory" },
      };
      try {
        await withProgram((folder) =>
          withNodeGateway(installed.program, folder, config, async ({ url, pid }) => {
            const count = async (content = "hello") => {
              const body = JSON.stringify({ ...HELLO, messages: [{ role: "user", content }] });
              const headers = { "content-type": "application/json" };
              const response = await fetch(`${url}/oss/v1/messages/count_tokens`, { method: "POST", headers, body });
              return { tokens: (await response.json()).input_tokens, by: response.headers.get("x-laneway-tokens") };
            };
            const thread = async () =>
              (await processesBelow(pid)).find(({ line }) => line.includes("node_thread_process"));
            await until(async () => (await count()).by === "tokenizer");
            assertEquals(await count(), { tokens: HELLO_TOKENS, by: "tokenizer" });
            const { pid: counting, line } = (await thread())!;
            assertStringIncludes(line, "--permission --allow-fs-read=");
            assertEquals(line.match(/--allow-(?!fs-read)[\w-]+/g), null);
            assertEquals((await Deno.readTextFile(`/proc/${counting}/environ`)).includes("UPSTREAM_SECRET"), false);
            Deno.kill(counting, "SIGKILL");
            await until(async () => (await thread())?.pid !== counting);
            assert((await count("hello again")).tokens > 0);
          })
        );
      } finally {
        await hub.shutdown();
      }
    },
  });
}
