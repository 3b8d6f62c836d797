import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { FILE, jsonWithFile } from "../../../plugins/hub/json_with_file.ts";

Deno.test("a file inside JSON is its base64, whatever its length", async () => {
  for (const length of [0, 1, 2, 3, 196_607, 196_608, 196_609, 500_000]) {
    const file = new Uint8Array(length).map((_, index) => index * 31);
    const blob = jsonWithFile({ audio: `data:audio/wav;base64,${FILE}`, language: null, prompt: undefined }, file);
    assertEquals(blob.type, "application/json");
    const body = JSON.parse(await blob.text());
    assertEquals(body, { audio: `data:audio/wav;base64,${file.toBase64()}`, language: null });
  }
});

Deno.test("what a client wrote is never taken for the file's place", async () => {
  await fc.assert(fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
    const prompt = FILE + text;
    const blob = jsonWithFile({ input: { audio: FILE, prompt } }, new Uint8Array([1, 2, 3]));
    assertEquals(JSON.parse(await blob.text()), { input: { audio: "AQID", prompt } });
  }));
});

Deno.test("the server sees the length of the whole and one JSON document", async () => {
  const file = new Uint8Array(700_000).fill(7);
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { length } = (await request.json()).inputs;
    return Response.json([request.headers.get("content-type"), request.headers.get("content-length"), length]);
  });
  const body = jsonWithFile({ inputs: FILE, note: "é" }, file);
  const response = await fetch(`http://127.0.0.1:${server.addr.port}`, { method: "POST", body });
  const encoded = Math.ceil(file.length / 3) * 4;
  assertEquals(await response.json(), [
    "application/json",
    String(encoded + '{"inputs":"","note":"é"}'.length + 1),
    encoded,
  ]);
});
