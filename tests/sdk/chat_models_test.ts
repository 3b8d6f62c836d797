import { assertEquals, assertRejects } from "@std/assert";
import { CONFIG, type ConfigInput, newApp, NOW } from "../support/app.ts";
import { MAJORS, newClient } from "./chat_clients.ts";

const MODELS: ConfigInput = {
  ...CONFIG,
  lanes: {
    oss: {
      models: {
        "big": {
          task: "chat",
          targets: [{ upstream: "fake", model: "org/big" }],
          displayName: "Big",
          contextLength: 131_072,
        },
        "maker/name": { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }], ownedBy: "somebody" },
      },
    },
    hf: { upstreams: { chat: "fake" } },
  },
};

for (const major of MAJORS) {
  Deno.test(`openai ${major.major}: the list of models`, async () => {
    const client = newClient(major, newApp({ config: MODELS }));
    const models = [];
    for await (const model of client.models.list()) models.push(model);
    assertEquals(models.map(({ id, object, created, owned_by }) => ({ id, object, created, owned_by })), [
      { id: "big", object: "model", created: NOW / 1000, owned_by: "org" },
      { id: "maker/name", object: "model", created: NOW / 1000, owned_by: "somebody" },
    ]);
  });

  Deno.test(`openai ${major.major}: one model, whose id has a slash and a policy`, async () => {
    const app = newApp({ config: MODELS });
    assertEquals((await newClient(major, app).models.retrieve("maker/name")).id, "maker/name");
    const { id, owned_by } = await newClient(major, app, "hf").models.retrieve("org/name:fastest");
    assertEquals([id, owned_by], ["org/name:fastest", "org"]);
    const error = await assertRejects(
      () => newClient(major, app).models.retrieve("org/name:fastest"),
      major.Sdk.NotFoundError,
    );
    assertEquals(error.code, "model_not_found");
  });
}
