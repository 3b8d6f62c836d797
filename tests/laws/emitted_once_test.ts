/**
 * What servers say twice is told once: an item that is done and opened again, as transformers does with a message after a
 * call, and a call in its legacy form beside the other, as llama-cpp-python has it.
 */
import { assert, assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { bodyOf } from "../support/chunks.ts";
import { newContext } from "../support/context.ts";
import { answerBytes, type Fixture, isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { comparable } from "../../src/programs/testing/well_formed.ts";
import { CHAT, RESPONSES } from "../support/wires.ts";

interface Emitted {
  frame: string;
  event: JsonObject;
}

/** The frames of a stream and their events; none where a frame is none. */
function framesOf({ response }: Fixture): Emitted[] {
  const frames = (response.text ?? "").split(/\r?\n\r?\n/).filter((frame) => frame.trim() !== "");
  try {
    return frames.map((frame) => {
      const data = frame.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join(
        "",
      );
      const event = data.trim() === "" || data.trim() === "[DONE]" ? {} : JSON.parse(data);
      return { frame, event: isJsonObject(event) ? event : {} };
    });
  } catch {
    return [];
  }
}

/** The item again, at another place: as it begins, its texts, and as it ends. */
function again(item: JsonObject, place: number): string {
  const began = { ...item, status: "in_progress", ...(item.type === "message" && { content: [] }) };
  const texts = (Array.isArray(item.content) ? item.content : []).filter(isJsonObject).map((
    { text },
    content_index,
  ) => ({
    type: "response.output_text.done",
    item_id: item.id!,
    output_index: place,
    content_index,
    text: text ?? null,
  }));
  const events = [
    { type: "response.output_item.added", output_index: place, item: began },
    ...texts,
    { type: "response.output_item.done", output_index: place, item },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

const ENDED = /^response\.(completed|incomplete|failed|cancelled)$/;
let tried = 0;

for (const fixture of loadFixtures(RESPONSES.name).filter(isStream)) {
  const frames = framesOf(fixture);
  const end = frames.findIndex(({ event }) => ENDED.test(String(event.type)));
  const items = frames.slice(0, Math.max(0, end)).map(({ event: { type, item } }) =>
    type === "response.output_item.done" ? item : undefined
  ).filter(isJsonObject).filter(({ id }) => typeof id === "string" && id !== "");
  if (items.length === 0) continue;
  tried++;

  Deno.test(`responses: ${fixture.name}: an item that is reopened after it was done is not told again`, async () => {
    const read = async (bytes: Uint8Array<ArrayBuffer>) =>
      comparable(await RESPONSES.readStream(fixture, bodyOf([bytes])));
    const whole = await read(answerBytes(fixture));
    for (const item of items) {
      const text = [
        ...frames.slice(0, end).map(({ frame }) => `${frame}\n\n`),
        again(item, 50),
        ...frames.slice(end).map(({ frame }) => `${frame}\n\n`),
      ].join("");
      assertEquals(await read(new TextEncoder().encode(text)), whole, `${item.type} ${item.id}`);
    }
  });
}

Deno.test("responses: there are streams whose items can be reopened", () => assert(tried > 20, String(tried)));

/** The answer or chunk with the legacy form beside each call; nothing where it has no call of a function. */
function withLegacy(body: JsonObject): JsonObject | undefined {
  let added = false;
  const choices = (Array.isArray(body.choices) ? body.choices : []).filter(isJsonObject).map((choice) => {
    const key = choice.message ? "message" : "delta";
    const said = choice[key];
    const [call] = isJsonObject(said) && Array.isArray(said.tool_calls) ? said.tool_calls : [];
    if (!isJsonObject(said) || !isJsonObject(call) || !isJsonObject(call.function)) return choice;
    added = true;
    return { ...choice, [key]: { ...said, function_call: call.function } };
  });
  return added ? { ...body, choices } : undefined;
}

let doubled = 0;

for (const fixture of loadFixtures(CHAT.name).filter(isOk)) {
  const { json, text } = fixture.response;
  const title = `chat: ${fixture.name}: a call in its legacy form beside the other is told once`;
  if (isStream(fixture)) {
    const frames = framesOf(fixture).map(({ frame, event }) => {
      const legacy = withLegacy(event);
      return legacy ? `data: ${JSON.stringify(legacy)}` : frame;
    });
    const both = frames.map((frame) => `${frame}\n\n`).join("");
    if (!both.includes('"function_call":{') || text?.includes('"function_call":{')) continue;
    doubled++;
    Deno.test(title, async () => {
      const read = async (bytes: Uint8Array<ArrayBuffer>) =>
        comparable(await CHAT.readStream(fixture, bodyOf([bytes])));
      assertEquals(await read(new TextEncoder().encode(both)), await read(answerBytes(fixture)));
    });
  } else {
    const both = isJsonObject(json) ? withLegacy(json) : undefined;
    if (!both) continue;
    doubled++;
    Deno.test(title, () => {
      const input = CHAT.inputOf(fixture);
      const read = (body: JsonObject) => CHAT.parseResponse(body, input, newContext(CHAT.name));
      assertEquals(read(both), read(json as JsonObject));
    });
  }
}

Deno.test("chat: there are answers whose calls can be doubled", () => assert(doubled > 20, String(doubled)));
