/** The `Host` header by hand: no client library sends what is wrong with it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { withGateway } from "./gateway.ts";

const WRONG = [
  "localhost/evil",
  "localhost/oss/v1/models?",
  "user@localhost",
  "user:password@localhost",
  "local host",
  "localhost?a=b",
  "localhost#a",
  "localhost\\a",
  "localhost:port",
  "localhost:65536",
  "http://localhost",
  "[::1",
  "[localhost]",
  "a,b",
  "%zz",
  "",
  " ",
];
const RIGHT = ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:8080", "localhost:", "a_b.localhost"];

/** The answer to a request with this header; without one where it is absent. */
async function answerTo(port: string, path: string, host: string | undefined, method = "GET"): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const header = host === undefined ? "" : `host: ${host}\r\n`;
  await connection.write(
    new TextEncoder().encode(`${method} ${path} HTTP/1.1\r\n${header}connection: close\r\n\r\n`),
  );
  return await new Response(connection.readable).text();
}

Deno.test("a Host header that is no host is answered 400, on every path, in the form of an error", async () => {
  await withGateway(async ({ app, url }) => {
    const { port } = new URL(url);
    for (const host of WRONG) {
      for (const path of ["/oss/v1/models", "/healthz", "/", "/nothing", "/oss/v1/chat/completions"]) {
        const answer = await answerTo(port, path, host);
        assertEquals(answer.slice(0, 12), "HTTP/1.1 400", `"${host}" ${path}`);
        const { error } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));
        assertEquals(error.type, "invalid_request_error", host);
        assertStringIncludes(error.message, '"Host"');
      }
    }
    assertEquals(new Set(app.logs.map(({ status }) => status)), new Set([400]));
    assertEquals(JSON.stringify(app.logs).includes("password"), false);
  });
});

Deno.test("a Host header that is one, or none at all, is served", async () => {
  await withGateway(async ({ url }) => {
    const { port } = new URL(url);
    for (const host of RIGHT) {
      assertEquals((await answerTo(port, "/oss/v1/models", host)).slice(0, 12), "HTTP/1.1 200", host);
    }
    // Health checks of load balancers that speak HTTP/1.0 send none.
    assertEquals((await answerTo(port, "/healthz", undefined)).slice(0, 12), "HTTP/1.1 200");
  });
});

Deno.test("a target that is a whole URL is held to the same", async () => {
  await withGateway(async ({ url }) => {
    const { port } = new URL(url);
    assertEquals(
      (await answerTo(port, "http://user:password@localhost/healthz", "localhost")).slice(0, 12),
      "HTTP/1.1 400",
    );
    assertEquals((await answerTo(port, "http://localhost/healthz", "localhost")).slice(0, 12), "HTTP/1.1 200");
  });
});
