/** The interpreter as people start it: beside the gateway, by the launcher, with the permissions that it gives. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { answerOn } from "../support/hosted_rig.ts";
import { withFolder, withLaunched } from "../support/process.ts";
import { CHAT } from "../support/wires.ts";

const call = (code: string) => `code_execution${JSON.stringify({ code })}`;

/** A model that plays its rounds, on a port of this machine. */
async function withModel(rounds: string[][], use: (port: number) => Promise<void>): Promise<void> {
  let round = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { stream } = await request.json();
    return await answerOn(CHAT, rounds[round++] ?? ["too often"], stream === true);
  });
  try {
    await use(server.addr.port);
  } finally {
    await server.shutdown();
  }
}

Deno.test({
  name: "interpreter: a gateway that is started with it runs code, and its processes end with it",
  ignore: Deno.build.os === "windows",
  async fn() {
    const rounds = [
      [call("x = sum(range(101))\nx")],
      ["5050"],
      [call("print(x + 1)")],
      ["5051"],
      [call("open('/etc/hostname').read()")],
      ["no"],
    ];
    await withModel(rounds, (port) =>
      withFolder(async (folder) => {
        await Deno.writeTextFile(
          `${folder}/gateway.json`,
          JSON.stringify({
            upstreams: { fake: { driver: "chat", baseUrl: `http://127.0.0.1:${port}/v1` } },
            lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "m" }] } } } },
            hostedTools: { codeExecution: { processes: 1 } },
            store: { kind: "memory" },
          }),
        );
        await withLaunched([], { cwd: folder }, async ({ url, kill, ended }) => {
          const ask = async (more: JsonObject) => {
            const response = await fetch(`${url}/oss/v1/messages`, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify({
                model: "model",
                max_tokens: 500,
                messages: [{ role: "user", content: "Add them up" }],
                tools: [{ type: "code_execution_20250522", name: "code_execution" }],
                ...more,
              }),
            });
            assertEquals(response.status, 200, await response.clone().text());
            return await response.json();
          };
          const first = await ask({});
          assertEquals(first.content[1].content.stdout, "5050\n");
          const second = await ask({ container: first.container.id });
          assertEquals(second.content[1].content.stdout, "5051\n");
          const third = await ask({});
          assertStringIncludes(third.content[1].content.stderr, "FileNotFoundError");
          assert(third.container.id !== first.container.id);
          kill("SIGTERM");
          await ended;
        });
      }));
  },
});
