/** Pictures by the vendor's SDK in its last three majors, and by the hub's own client. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { png, promptOf } from "../support/fake_hub.ts";
import { MAJORS, newClient } from "./chat_clients.ts";
import { newHubApp, newInferenceClient, newTaskApp, routesOf } from "./task_clients.ts";

const DRAWN = png("drawn", 16, 16).toBase64();
const file = (name: string) => new File([png("given", 24, 8)], name, { type: "image/png" });

function streamOf(name: string): Response {
  const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
  const events = [
    { type: `${name}.partial_image`, b64_json: DRAWN, partial_image_index: 0 },
    { type: `${name}.completed`, b64_json: DRAWN, usage },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

for (const major of MAJORS) {
  Deno.test(`openai ${major.major}: draws with the sandbox`, async () => {
    const client = newClient(major, newTaskApp());
    const { data, size, output_format } = await client.images.generate({
      model: "sandbox-image",
      prompt: "A fox",
      n: 2,
      size: "256x256",
    });
    const [first, second] = data!.map(({ b64_json }) => b64_json!);
    assert(first !== second);
    assertEquals([size as string, output_format], ["256x256", "png"]);
    const again = await client.images.generate({ model: "sandbox-image", prompt: "A fox", size: "256x256" });
    assertEquals(again.data![0]!.b64_json, first);
  });

  Deno.test(`openai ${major.major}: changes pictures with the sandbox, which keep their size`, async () => {
    const client = newClient(major, newTaskApp());
    const { data, size } = await client.images.edit({
      model: "sandbox-image",
      prompt: "A fox",
      image: [file("a.png"), file("b.png")],
      mask: file("mask.png"),
    });
    assertEquals([data!.length, size as string], [1, "24x8"]);
  });

  Deno.test(`openai ${major.major}: streams pictures, new and changed`, async () => {
    const app = newTaskApp(({ url }) => streamOf(url.endsWith("edits") ? "image_edit" : "image_generation"));
    const client = newClient(major, app);
    const wanted = { model: "painter", prompt: "A fox", stream: true, partial_images: 1 } as const;
    const drawn = [];
    for await (const event of await client.images.generate(wanted)) drawn.push(event);
    assertEquals(drawn.map(({ type }) => type), ["image_generation.partial_image", "image_generation.completed"]);
    const changed = [];
    for await (const event of await client.images.edit({ ...wanted, image: file("a.png") })) changed.push(event);
    assertEquals(changed.map(({ type, b64_json }) => [type, promptOf(b64_json)]), [
      ["image_edit.partial_image", "drawn"],
      ["image_edit.completed", "drawn"],
    ]);
    const last = changed.at(-1)!;
    assertEquals(last.type === "image_edit.completed" && last.usage.total_tokens, 8);
  });

  Deno.test(`openai ${major.major}: what is wrong is raised as the vendor's own error`, async () => {
    const client = newClient(major, newTaskApp());
    const wrong = () => client.images.generate({ model: "sandbox-image", prompt: "A fox", n: 11 });
    const error = await assertRejects(async () => await wrong(), major.Sdk.BadRequestError);
    assertEquals([error.status, error.param], [400, "n"]);
    const unknown = () => client.images.generate({ model: "nobody", prompt: "A fox" });
    await assertRejects(async () => await unknown(), major.Sdk.NotFoundError);
  });
}

Deno.test("the hub's own client draws by the gateway", async () => {
  const hub = newHubApp();
  const picture = await newInferenceClient(hub).textToImage({
    model: "black-forest-labs/FLUX.1-schnell",
    inputs: "A fox",
    provider: "nscale",
    urlTransform: () => "http://gateway/hf/v1/images/generations",
  }, { outputType: "blob" });
  assertEquals(promptOf(await picture.bytes()), "A fox");
  assertEquals(routesOf(hub), ["/together/v1/images/generations"]);
});
