import { assertEquals } from "@std/assert";
import { withFolder } from "../temp_folder.ts";
import type { FakeUpstream } from "../../support/fake_upstream.ts";
import { within } from "../../support/wait.ts";
import { type Answer, answerTo, echoUpstream, lastIn, RESPONSES, said, talkIn, talkOf } from "./echo.ts";
import { type GatewayProcess, startGateway, writeConfig } from "../../support/gateway_process.ts";

interface Setting {
  gateways: [GatewayProcess, GatewayProcess];
  upstream: FakeUpstream;
  /** What the upstream was told with the request whose last words are these. */
  talkOf(text: string): ReturnType<typeof talkIn>;
}

/** Calls `use` with two gateways on one store, which did not exist before. */
async function withTwo(use: (setting: Setting) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const upstream = echoUpstream();
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => upstream.fetch(request));
    const config = await writeConfig(folder, `http://127.0.0.1:${server.addr.port}/v1`);
    const gateways = await Promise.all([startGateway(config), startGateway(config)]);
    const talkOf = (text: string) =>
      upstream.asked.map(({ body }) => talkIn(body)).find((talk) => talk.at(-1)![1] === text)!;
    let codes: number[] = [];
    try {
      await use({ gateways, upstream, talkOf });
    } finally {
      const stopped = await Promise.allSettled(gateways.map((gateway) => gateway.stop()));
      await server.shutdown();
      codes = stopped.map((one) => one.status === "fulfilled" ? one.value : -1);
    }
    assertEquals(codes, [0, 0]);
  });
}

async function respond({ url }: GatewayProcess, body: object, stream = false): Promise<Answer> {
  const response = fetch(`${url}${RESPONSES}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "model", stream, ...body }),
  });
  const text = await (await within(response)).text();
  return text.startsWith("{") ? JSON.parse(text) : lastIn(text)!;
}

/** A conversation whose turns go to the one and the other gateway. Returns the last turn's id. */
async function converse(setting: Setting, name: string, turns: number): Promise<string> {
  const texts: string[] = [];
  let previous: string | undefined;
  for (let turn = 0; turn < turns; turn++) {
    const input = `${name} ${turn}`;
    texts.push(input);
    const body = { input, ...(previous && { previous_response_id: previous }) };
    const answer = await respond(setting.gateways[turn % 2 === 0 ? 0 : 1], body, turn % 3 === 0);
    assertEquals([answer.status, answer.store, said(answer)], ["completed", true, answerTo(input)]);
    assertEquals(setting.talkOf(input), talkOf(...texts));
    previous = answer.id;
  }
  return previous!;
}

Deno.test("two gateways on one store: a conversation alternates between them, and ends where one of them deletes it", async () => {
  await withTwo(async (setting) => {
    const { gateways: [one, other] } = setting;
    const id = await converse(setting, "turn", 10);
    const path = `${RESPONSES}/${id}`;
    assertEquals((await (await fetch(one.url + path)).json()).id, id);
    const deleted = await fetch(other.url + path, { method: "DELETE" });
    assertEquals(await deleted.json(), { id, object: "response", deleted: true });
    for (const { url } of [one, other]) {
      const found = await fetch(url + path);
      assertEquals([found.status, (await found.json()).error.code], [404, null]);
      const again = await fetch(url + path, { method: "DELETE" });
      assertEquals([again.status, (await again.json()).error.code], [404, null]);
      const { error } = await respond({ ...one, url }, { input: "b", previous_response_id: id });
      assertEquals(error?.code, "previous_response_not_found");
    }
  });
});

Deno.test("two gateways on one store: ten conversations at once of five turns each lose none", async () => {
  await withTwo(async (setting) => {
    const names = Array.from({ length: 10 }, (_, number) => `talk ${number}`);
    const ids = await Promise.all(names.map((name) => converse(setting, name, 5)));
    for (const [number, id] of ids.entries()) {
      for (const { url } of setting.gateways) {
        const answer: Answer = await (await fetch(`${url}${RESPONSES}/${id}`)).json();
        assertEquals([answer.id, said(answer)], [id, answerTo(`${names[number]} 4`)]);
      }
    }
  });
});
