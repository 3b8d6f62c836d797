import { assertEquals, assertRejects } from "@std/assert";
import type { HostedResult } from "../../src/canonical/hosted.ts";
import { createOpenPage } from "../../src/hosted/fetch_page.ts";
import { maskerFor } from "../../src/context/secrets.ts";
import { permissionsBy } from "../../src/hosted/mcp_permissions.ts";
import { createHostedRunner } from "../../src/hosted/runner.ts";
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import { until } from "../support/wait.ts";

const forever = new AbortController().signal;

let rigs = 0;

/** The gateway's side before a fetcher that answers as `serve` does. */
function newRig(serve: (body: unknown, tries: number) => Response | Promise<Response>, timeoutMs = 60_000) {
  // A host that failed one test is sent bodies with care in the next.
  const baseUrl = `http://fetcher${++rigs}.test`;
  const failures: unknown[] = [];
  const clock = { ms: 0 };
  const asked: { body: unknown; authorization: string | null; url: string }[] = [];
  const transport = fetchTransport(async (url, init) => {
    const request = new Request(url, init);
    const body = await request.json();
    asked.push({ body, authorization: request.headers.get("authorization"), url: request.url });
    return await serve(body, asked.length);
  });
  const service = {
    name: "fetcher",
    baseUrl,
    secret: "token",
    headers: {},
    resultsFrom: [],
    transport,
  };
  const openPage = createOpenPage({ service, timeoutMs, characters: 10_000, now: () => clock.ms });
  const facts = { signal: forever, onFailure: (reason: unknown) => failures.push(reason) };
  const open = (maxTokens?: number, signal = forever) =>
    openPage("http://a.test/", maxTokens === undefined ? {} : { maxTokens }, { ...facts, signal });
  const openAs = async (owner: string | undefined, url: string) => code(await openPage(url, {}, { ...facts, owner }));
  return { openPage, open, openAs, clock, asked, failures };
}

const code = (result: HostedResult) => result.kind === "error" ? result.code : result.kind;

Deno.test("opening pages: the fetcher is shown its token and asked for as much as the model takes", async () => {
  const page = {
    url: "http://a.test/b",
    title: "T",
    text: "hello",
    mediaType: "text/markdown",
    retrievedAt: "2026-01-01",
  };
  const { open, asked } = newRig(() => Response.json({ ...page, more: 1 }));
  assertEquals(await open(), { kind: "page", page });
  await open(100);
  await open(100_000);
  assertEquals(
    asked.map(({ body }) => body),
    [10_000, 400, 10_000].map((maxCharacters) => ({ url: "http://a.test/", maxCharacters })),
  );
  assertEquals([new URL(asked[0]!.url).pathname, asked[0]!.authorization], ["/fetch", "Bearer token"]);
});

Deno.test("opening pages: what the fetcher refuses keeps its reason; what it cannot say is unavailable, and logged", async () => {
  const codes = [
    "invalid_input",
    "too_many_requests",
    "too_long",
    "not_allowed",
    "not_accessible",
    "unsupported_type",
    "too_large",
  ];
  for (const error of codes) {
    const { open, failures } = newRig(() => Response.json({ error, message: "why" }));
    assertEquals([code(await open()), failures.length], [error, 0]);
  }
  const odd = [{ error: "too_many_uses" }, { error: "__proto__" }, {}, [], null, { text: "hello" }, {
    url: 1,
    text: "hello",
  }];
  for (const body of odd) {
    const { open, failures } = newRig(() => Response.json(body));
    assertEquals([code(await open()), failures.length], ["unavailable", 1]);
  }
  for (const status of [400, 401, 404, 500]) {
    const { open, failures } = newRig(() => Response.json({ error: "unauthorized" }, { status }));
    assertEquals([code(await open()), failures.length], ["unavailable", 1]);
  }
});

Deno.test("opening pages: a fetcher that is just coming back is asked again, and one that stays away is given up", async () => {
  const back = newRig((_, tries) => {
    if (tries < 3) throw new TypeError("connection refused");
    return Response.json({ url: "http://a.test/", text: "hello", mediaType: "text/plain" });
  });
  assertEquals([code(await back.open()), back.asked.length], ["page", 3]);
  const away = newRig(() => {
    throw new TypeError("connection refused");
  });
  assertEquals([code(await away.open()), away.asked.length, away.failures.length], ["unavailable", 4, 1]);
});

const MINUTE = 60_000;
const PAGE = { url: "http://a.test/", text: "hello", mediaType: "text/plain" };

Deno.test("opening pages: an address that brought the fetcher down is not tried again for minutes", async () => {
  for (const answer of [{ ...PAGE, isSpoiling: true }, { error: "too_large", isSpoiling: true }]) {
    const { openAs, asked, clock } = newRig(() => Response.json(answer));
    const first = await openAs("a", "http://a.test/x#1");
    assertEquals(first, "error" in answer ? "too_large" : "page");
    for (const owner of ["a", "b", undefined]) assertEquals(await openAs(owner, "http://a.test/x#2"), "too_large");
    assertEquals(asked.length, 1);
    await openAs("a", "http://a.test/y");
    clock.ms += 6 * MINUTE;
    await openAs("a", "http://a.test/x");
    assertEquals(asked.length, 3);
  }
});

Deno.test("opening pages: one with which the fetcher is lost twice is not tried again by its caller, and by others", async () => {
  const { openAs, asked, clock } = newRig(() => {
    throw new TypeError("connection reset");
  });
  assertEquals([await openAs("a", "http://a.test/x"), asked.length], ["unavailable", 2]);
  assertEquals([await openAs("a", "http://a.test/x"), asked.length], ["too_large", 2]);
  assertEquals([await openAs("b", "http://a.test/x"), asked.length], ["unavailable", 4]);
  clock.ms += 6 * MINUTE;
  assertEquals([await openAs("a", "http://a.test/x"), asked.length], ["unavailable", 6]);
  const once = newRig((_, tries) => {
    if (tries === 1) throw new TypeError("connection reset");
    return Response.json(PAGE);
  });
  assertEquals([await once.openAs("a", "http://a.test/x"), await once.openAs("a", "http://a.test/x")], [
    "page",
    "page",
  ]);
});

Deno.test("opening pages: the fetcher tells callers apart, and does not learn who they are", async () => {
  const { openAs, asked } = newRig(() => Response.json(PAGE));
  for (const owner of ["anna", "anna", "bert", undefined]) await openAs(owner, "http://a.test/");
  const [first, again, other, none] = asked.map(({ body }) => (body as { caller?: string }).caller);
  assertEquals([first === again, first === other, first?.includes("anna"), none], [true, false, false, undefined]);
});

Deno.test("opening pages: one that takes too long is not accessible, and a caller who leaves ends it", async () => {
  const never = () => new Promise<Response>(() => {});
  assertEquals(code(await newRig(never, 20).open()), "not_accessible");
  const leaving = new AbortController();
  const { open, asked, failures } = newRig(never);
  const opening = open(undefined, leaving.signal);
  await until(() => asked.length > 0);
  leaving.abort(new Error("left"));
  await assertRejects(() => opening, Error, "left");
  assertEquals(failures, []);
});

Deno.test("opening pages: without a fetcher there is none to open", async () => {
  const failures: unknown[] = [];
  const open = createOpenPage({ timeoutMs: 1_000, characters: 1_000, now: () => 0 });
  const facts = { signal: forever, onFailure: (reason: unknown) => failures.push(reason) };
  assertEquals([code(await open("http://a.test/", {}, facts)), failures.length], ["unavailable", 1]);
});

Deno.test("opening pages: a redirect does not lead out of the domains that the request allows", async () => {
  const { openPage } = newRig(() =>
    Response.json({ url: "http://other.test/", text: "hello", mediaType: "text/plain" })
  );
  const runner = createHostedRunner({
    openPage,
    servers: new Map(),
    serverAt: () => undefined,
    callMs: 1,
    permissions: permissionsBy({}),
    maskerFor,
    now: () => 0,
  });
  const run = (domains: object) =>
    runner.run({ kind: "web-fetch", url: "http://a.test/" }, { kind: "web-fetch", domains }, {
      key: "",
      signal: forever,
      onFailure: () => {},
      isNamed: () => true,
    });
  assertEquals(code(await run({})), "page");
  assertEquals(code(await run({ allowed: ["a.test"] })), "not_allowed");
  assertEquals(code(await run({ blocked: ["other.test"] })), "not_allowed");
});
