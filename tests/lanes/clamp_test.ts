import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import type { FilePart, GenerateRequest, InputPart, Message } from "../../src/canonical/generate.ts";
import { estimateInputTokens } from "../../src/canonical/estimate.ts";
import { GatewayError } from "../../src/errors.ts";
import { clampEffort, clampFiles, fitAnswer } from "../../src/lanes/clamp.ts";
import type { ModelLimits } from "../../src/config/lane_schema.ts";

const text = (words: string): InputPart => ({ type: "text", text: words });
const file = (mediaType: string): FilePart => ({ type: "file", mediaType, source: { type: "base64", data: "AAAA" } });
const image = file("image/png");
const user = (...content: InputPart[]): Message => ({ role: "user", content });
const assistant = (...content: InputPart[]): Message => ({ role: "assistant", content });
const result = (...content: InputPart[]): Message => ({
  role: "tool",
  content: [{ type: "tool-result", id: "call_1", content }],
});
const system: Message = { role: "system", content: [text("Be kind")] };

function fitted(request: Partial<GenerateRequest>, limits: ModelLimits) {
  const notes: string[] = [];
  const note = (text: string) => void (notes.includes(text) || notes.push(text));
  const whole = { model: "x", messages: [user(text("Hello"))], stream: false, ...request };
  const taken = clampFiles(clampEffort(whole, limits.efforts, note), limits.inputModalities, note);
  const { request: prepared } = fitAnswer(taken, estimateInputTokens(taken), { targets: [], ...limits }, note);
  return { ...prepared, notes };
}

Deno.test("fit: of a model of which nothing is known nothing is changed", () => {
  const messages = [user(image), assistant(text("Nice")), user(file("application/pdf"))];
  const { notes, ...request } = fitted({ messages, maxOutputTokens: 128_000, thinking: { effort: "max" } }, {});
  assertEquals(notes, []);
  assertStrictEquals(request.messages, messages);
  assertEquals([request.maxOutputTokens, request.thinking], [128_000, { effort: "max" }]);
});

Deno.test("fit: effort goes to the nearest level", () => {
  const { thinking, notes } = fitted({ thinking: { effort: "max" } }, { efforts: ["low", "high"] });
  assertEquals([thinking, notes], [{ effort: "high" }, ["clamped effort max>high"]]);
});

// Length of the answer

Deno.test("fit: an answer is no longer than the model's longest", () => {
  const { maxOutputTokens, notes } = fitted({ maxOutputTokens: 128_000 }, { maxOutputTokens: 32_768 });
  assertEquals([maxOutputTokens, notes], [32_768, ["clamped max_tokens 128000>32768"]]);
  assertEquals(fitted({ maxOutputTokens: 32_768 }, { maxOutputTokens: 32_768 }).notes, []);
});

Deno.test("fit: a client that sets no limit gets none", () => {
  const { maxOutputTokens, notes } = fitted({}, { maxOutputTokens: 10, contextLength: 100 });
  assertEquals([maxOutputTokens, notes], [undefined, []]);
});

Deno.test("fit: an answer is no longer than what the conversation leaves of the context", () => {
  const messages = [user(text("word ".repeat(1_000)))];
  const input = estimateInputTokens({ messages });
  const limited = (contextLength: number, maxOutputTokens?: number) =>
    fitted({ messages, maxOutputTokens: 5_000 }, { contextLength, maxOutputTokens }).maxOutputTokens;
  assertEquals(limited(input + 5_000), 5_000);
  assertEquals(limited(input + 700), 700);
  assertEquals(limited(input + 700, 300), 300);
});

Deno.test("fit: a conversation that seems to fill the context is left to the upstream, whose words agents know", () => {
  const messages = [user(text("word ".repeat(1_000)))];
  const contextLength = estimateInputTokens({ messages });
  for (const room of [-500, 0, 1, 100]) {
    const window = contextLength + room;
    const { maxOutputTokens } = fitted({ messages, maxOutputTokens: 5_000 }, { contextLength: window });
    assertEquals(maxOutputTokens, window);
  }
  const { maxOutputTokens } = fitted({ messages, maxOutputTokens: 5_000 }, { contextLength, maxOutputTokens: 400 });
  assertEquals(maxOutputTokens, 400);
});

Deno.test("fit: what asks for no token at all stays so", () => {
  assertEquals(fitted({ maxOutputTokens: 0 }, { maxOutputTokens: 10, contextLength: 100 }).maxOutputTokens, 0);
});

// Files

const textOnly: ModelLimits = { inputModalities: ["text"] };
const noImages = 'the model "x" takes no images';
const standIn = text(`[image omitted: ${noImages}]`);

Deno.test("fit: an image in the user's newest turn is refused with its place", () => {
  const messages = [system, user(text("Hi")), assistant(text("Hello")), user(text("What is this?"), image), system];
  const error = assertThrows(() => fitted({ messages }, textOnly), GatewayError);
  assertEquals([error.code, error.details.param], ["invalid_request", "messages[3].content[1]"]);
  assertEquals(error.message, `Cannot send "messages[3].content[1]": ${noImages}`);
});

Deno.test("fit: in older turns a text stands in for it, said once", () => {
  const messages = [user(text("A"), image, image), assistant(text("B"), image), user(text("C"))];
  const fit = fitted({ messages }, textOnly);
  assertEquals(fit.messages, [user(text("A"), standIn, standIn), assistant(text("B"), standIn), user(text("C"))]);
  assertEquals(fit.notes, ["replaced images with text"]);
});

Deno.test("fit: what a tool brought never fails, last though it be", () => {
  const fit = fitted({ messages: [user(text("Go"), image), result(text("Read"), image)] }, textOnly);
  assertEquals(fit.messages, [user(text("Go"), standIn), result(text("Read"), standIn)]);
});

Deno.test("fit: a user's turn right after results of tools belongs to them", () => {
  const messages = [user(text("Go")), assistant(text("Reading")), result(text("See below")), user(image)];
  assertEquals(fitted({ messages }, textOnly).messages.at(-1), user(standIn));
});

Deno.test("fit: what the model takes goes through as it is", () => {
  const messages = [user(image), assistant(text("Nice")), user(image)];
  const fit = fitted({ messages }, { inputModalities: ["text", "image"] });
  assertEquals([fit.messages, fit.notes], [messages, []]);
});

for (
  const [mediaType, kind, words] of [
    ["image/*", "image", "images"],
    ["audio/wav", "audio", "audio"],
    ["video/mp4", "video", "video"],
    ["application/pdf", "file", "files"],
    ["text/plain", "file", "files"],
    ["application/octet-stream", "file", "files"],
  ] as const
) {
  Deno.test(`fit: ${mediaType} counts as ${kind}`, () => {
    const messages = [user(file(mediaType)), assistant(text("Nice")), user(text("Thanks"))];
    const fit = fitted({ messages }, textOnly);
    assertEquals(fit.messages[0], user(text(`[${kind} omitted: the model "x" takes no ${words}]`)));
    assertEquals(fit.notes, [`replaced ${words} with text`]);
    assertEquals(fitted({ messages }, { inputModalities: ["text", kind] }).messages, messages);
  });
}
