import { assertEquals } from "@std/assert";
import { TextBody } from "../../src/platform/fetch_transport.ts";

Deno.test("a text to send is read like any Blob, and as often as one", async () => {
  const body = new TextBody("é1");
  const read = [body.text(), body.slice(2).text(), new Response(body).text(), new Response(body.stream()).text()];
  assertEquals(await Promise.all(read), ["é1", "1", "é1", "é1"]);
  assertEquals([body.size, body.type, await body.bytes()], [3, "", new Uint8Array(await body.arrayBuffer())]);
});
