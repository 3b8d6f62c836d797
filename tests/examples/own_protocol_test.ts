/** `examples/own_protocol`: it keeps the laws, and its program serves it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { laws } from "@laneway/gateway/testing";
import { ask } from "../../examples/own_protocol/ask.ts";
import { withFolder, withLaunched } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);

const OWN_LAWS = laws({
  protocol: ask,
  request: { model: "m", question: "And now?", before: [{ question: "Hello", answer: "Hi" }], stream: true },
  marks: { done: '{"ended":', error: '{"error":' },
  read: {
    whole: ({ answer }) => ({ text: String(answer) }),
    stream: (frames) => ({ text: frames.map(({ data }) => JSON.parse(data!).piece ?? "").join("") }),
  },
});
for (const { name, check } of OWN_LAWS) Deno.test(`own protocol: ${name}`, check);

const CONFIG = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { models: { sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
  store: { kind: "memory" },
};

Deno.test("own protocol: the program answers, whole and streamed", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(CONFIG));
    const args = ["--main", "examples/own_protocol/main.ts", "--config", `${folder}/gateway.json`];
    await withLaunched(args, { cwd: ROOT.pathname }, async ({ url }) => {
      const post = (body: object) => fetch(`${url}/oss/ask`, { method: "POST", body: JSON.stringify(body) });
      const asked = { model: "sandbox", question: "Hello" };
      const { answer, ended } = await (await post(asked)).json();
      assertEquals(ended, "stop");
      assertStringIncludes(answer, "sandbox");
      const lines = (await (await post({ ...asked, stream: true })).text()).trim().split("\n").map((one) =>
        JSON.parse(one)
      );
      assertEquals(lines.map(({ piece = "" }) => piece).join(""), answer);
      assertEquals(lines.at(-1), { ended: "stop" });
      const refused = await post({ ...asked, temperature: 1 });
      assertEquals(refused.status, 400);
      assertStringIncludes((await refused.json()).error, "temperature");
    });
  });
});
