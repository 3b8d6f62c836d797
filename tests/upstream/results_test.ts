import { assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { type Fetch, fetchTransport } from "../../src/platform/fetch_transport.ts";
import { type Callee, send } from "../../src/upstream/send.ts";
import { textOf } from "../support/transport.ts";

const SERVICE: Omit<Callee, "transport"> = {
  name: "media",
  baseUrl: "https://upstream.test/v1",
  secret: "secret-1f2e3d",
  headers: { "x-team": "a", cookie: "session=1" },
  resultsFrom: [
    "https://fal.media",
    "https://*.fal.media",
    "https://files.test:8443",
    "https://*.files.test:8443",
    "https://plain.test:443",
    "http://127.0.0.1:9000",
  ],
};

/** Fetches `url`, from a world in which `redirects` tell where each page has moved. */
async function fetchResult(url: string, redirects: Record<string, { status?: number; location: string }> = {}) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch: Fetch = (url, init) => {
    asked.push({ url, init });
    const moved = redirects[url];
    if (!moved) return Promise.resolve(new Response("sound"));
    return Promise.resolve(
      new Response("moved", { status: moved.status ?? 302, headers: { location: moved.location } }),
    );
  };
  const response = await send({ url }, { ...SERVICE, transport: fetchTransport(fetch) }, new AbortController().signal);
  return { asked, text: await textOf(response), status: response.status };
}

const ALLOWED = [
  "https://fal.media/a.wav?x=1#y",
  "https://fal.media:443/a.wav",
  "HTTPS://FAL.Media/a.wav",
  "https://v3.fal.media/a.wav",
  "https://a.b.fal.media/a.wav",
  "https://files.test:8443/a.wav",
  "https://a.files.test:8443/a.wav",
  "https://plain.test/a.wav",
  "http://127.0.0.1:9000/a.wav",
  "http://2130706433:9000/a.wav",
];

for (const url of ALLOWED) {
  Deno.test(`results: ${url} may be fetched`, async () => {
    assertEquals((await fetchResult(url)).text, "sound");
  });
}

const REFUSED = [
  "http://fal.media/a.wav",
  "http://v3.fal.media/a.wav",
  "https://fal.media:8443/a.wav",
  "https://v3.fal.media:444/a.wav",
  "https://files.test/a.wav",
  "https://a.files.test/a.wav",
  "https://fal.media.evil.com/a.wav",
  "https://evilfal.media/a.wav",
  "https://evil.com/fal.media",
  "https://evil.com/?https://fal.media",
  "https://evil.com#.fal.media",
  "https://evil.com\\.fal.media/a.wav",
  "https://fal.media@evil.com/a.wav",
  "https://fal.media./a.wav",
  "https://v3.fal.media./a.wav",
  "https://user@fal.media/a.wav",
  "https://user:password@v3.fal.media/a.wav",
  "https://:password@fal.media/a.wav",
  "https://127.0.0.1/a.wav",
  "https://[::1]/a.wav",
  "http://127.0.0.1/a.wav",
  "http://127.0.0.1:9001/a.wav",
  "http://169.254.169.254/latest/meta-data/",
  "http://localhost:9000/a.wav",
  "https://xn--fl-fka.media/a.wav",
  "https://fаl.media/a.wav", // with a Cyrillic a
  "file:///etc/passwd",
  "data:audio/wav;base64,UklGRg==",
  "blob:https://fal.media/1",
  "javascript:1",
  "//fal.media/a.wav",
  "/a.wav",
  "a.wav",
  "",
];

for (const url of REFUSED) {
  Deno.test(`results: "${url}" is not fetched`, async () => {
    let calls = 0;
    const fetch: Fetch = () => Promise.resolve(new Response(String(++calls)));
    const signal = new AbortController().signal;
    const error = await assertRejects(
      () => send({ url }, { ...SERVICE, transport: fetchTransport(fetch) }, signal),
      GatewayError,
    );
    assertEquals([error.code, calls], ["upstream_error", 0]);
  });
}

Deno.test("results: the message names the place, and nothing of the address behind it", async () => {
  await assertRejects(
    () => fetchResult("https://user:password@evil.com/a?token=1"),
    GatewayError,
    'The result of upstream "media" is at "https://evil.com", which its "resultsFrom" does not name',
  );
});

Deno.test("results: no credential and no configured header goes with it, to no hop", async () => {
  const { asked } = await fetchResult("https://fal.media/1", {
    "https://fal.media/1": { location: "https://v3.fal.media/2" },
  });
  assertEquals(asked.map(({ url }) => url), ["https://fal.media/1", "https://v3.fal.media/2"]);
  for (const { init } of asked) {
    assertEquals([...new Headers(init.headers)], [["user-agent", "laneway"]]);
    assertEquals([init.method ?? "GET", init.body, init.redirect], ["GET", undefined, "manual"]);
  }
});

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`results: a ${status} is followed where it stays inside, and not beyond`, async () => {
    const from = "https://fal.media/1";
    assertEquals((await fetchResult(from, { [from]: { status, location: "/2" } })).text, "sound");
    assertEquals((await fetchResult(from, { [from]: { status, location: "//v3.fal.media/2" } })).text, "sound");
    for (
      const location of [
        "https://evil.com/2",
        "http://fal.media/2",
        "//evil.com",
        "https://user@fal.media/2",
        "http://169.254.169.254/",
        "https://",
      ]
    ) {
      await assertRejects(() => fetchResult(from, { [from]: { status, location } }), GatewayError, "The result of");
    }
  });
}

Deno.test("results: a redirect out of bounds is refused at the second hop too", async () => {
  const redirects = {
    "https://fal.media/1": { location: "https://v3.fal.media/2" },
    "https://v3.fal.media/2": { location: "https://evil.com/3" },
  };
  const error = await assertRejects(() => fetchResult("https://fal.media/1", redirects), GatewayError);
  assertEquals(error.message.includes("https://evil.com"), true);
});

Deno.test("results: redirects in a circle end", async () => {
  const redirects = { "https://fal.media/1": { location: "/2" }, "https://fal.media/2": { location: "/1" } };
  await assertRejects(() => fetchResult("https://fal.media/1", redirects), GatewayError, "too many redirects");
});

Deno.test("results: three redirects are followed", async () => {
  const redirects = Object.fromEntries(
    [1, 2, 3].map((hop) => [`https://fal.media/${hop}`, { location: `/${hop + 1}` }]),
  );
  assertEquals((await fetchResult("https://fal.media/1", redirects)).asked.length, 4);
});

Deno.test("results: where nothing is allowed, nothing is fetched", async () => {
  const service = { ...SERVICE, resultsFrom: [] };
  const fetch: Fetch = () => Promise.reject(new Error("No call was expected"));
  await assertRejects(
    () =>
      send(
        { url: "https://upstream.test/v1/a.wav" },
        { ...service, transport: fetchTransport(fetch) },
        new AbortController().signal,
      ),
    GatewayError,
    "does not name",
  );
});

Deno.test("results: a host that cannot be reached is the upstream's error", async () => {
  const fetch: Fetch = () => Promise.reject(new TypeError("no route"));
  const error = await assertRejects(
    () =>
      send(
        { url: "https://fal.media/1" },
        { ...SERVICE, transport: fetchTransport(fetch) },
        new AbortController().signal,
      ),
    GatewayError,
    'Cannot reach upstream "media"',
  );
  assertEquals(error.code, "upstream_error");
});
