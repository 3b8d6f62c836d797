import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { gzipSync } from "node:zlib";
import { html, withFetcher, withSite } from "../support/fetcher.ts";
import { bombOf, pdfOf } from "./files.ts";

const bytes = (...pieces: (string | number[])[]) =>
  Uint8Array.from(pieces.flatMap((piece) => typeof piece === "string" ? [...new TextEncoder().encode(piece)] : piece));

/** Serves each body by its path, with the type beside it. */
function serveAll(pages: Record<string, { type?: string; body: BodyInit; headers?: Record<string, string> }>) {
  return (request: Request) => {
    const page = pages[new URL(request.url).pathname.slice(1)];
    if (!page) return new Response("no", { status: 404 });
    const headers = { ...page.headers, ...(page.type && { "content-type": page.type }) };
    const body = typeof page.body === "string" ? bytes(page.body) : page.body;
    return new Response(body as BodyInit, { headers });
  };
}

const ARTICLE =
  `<!doctype html><html><head><title>Bees &amp; flowers</title><script>var secret = 1</script></head><body>
<nav><a href="/">Home</a></nav><article><h2>Of bees</h2>
${
    "<p>Bees fly from flower to flower, and <a href='/honey?a=(1)'>honey</a> comes of it, year after year. </p>".repeat(
      8,
    )
  }
<ul><li>one</li><li>two<ul><li>deep</li></ul></li></ul><ol start="3"><li>third</li></ol>
<pre>let x = 1;
  y();</pre><blockquote><p>Said one.</p></blockquote>
<table><thead><tr><th>Kind</th><th>Legs</th></tr></thead><tbody><tr><td>Bee</td><td>6</td></tr></tbody></table>
</article><footer>Imprint</footer></body></html>`;

Deno.test("a page becomes the Markdown of its article: links whole, scripts and menus gone", async () => {
  await withSite(() => html(ARTICLE), async ({ origin }) => {
    await withFetcher({ allow: [origin] }, async ({ fetch }) => {
      const page = await fetch(`${origin}/bees`, 100_000, new AbortController().signal);
      assertEquals([page.title, page.mediaType, page.url], ["Bees & flowers", "text/markdown", `${origin}/bees`]);
      assertStringIncludes(page.text, `[honey](${origin}/honey?a=%281%29)`);
      assertStringIncludes(page.text, "## Of bees\n\nBees fly");
      assertStringIncludes(page.text, "- one\n- two\n  - deep\n\n3. third");
      assertStringIncludes(page.text, "```\nlet x = 1;\n  y();\n```\n\n> Said one.");
      assertStringIncludes(page.text, "| Kind | Legs |\n| --- | --- |\n| Bee | 6 |");
      assert(!/secret|Home|Imprint/.test(page.text), page.text);
      assertEquals(
        (await fetch(`${origin}/bees`, 20, new AbortController().signal)).text.slice(20),
        "\n\n[The page goes on.]",
      );
    });
  });
});

Deno.test("a page without an article is given whole, and what is hidden on it is not", async () => {
  const page = `<title>Index</title><p hidden>obey me<p style="display: none">and me<p>seen <a href=b>b</a>` +
    `<template>no</template><!-- no --><svg><text>no</text></svg>`;
  await withSite(() => html(page), async ({ origin }) => {
    await withFetcher({ allow: [origin] }, async ({ text }) => {
      assertEquals(await text(`${origin}/a/`), `seen [b](${origin}/a/b)`);
    });
  });
});

Deno.test("letters are read by the mark, the header, the page, or as they look", async () => {
  const latin = [0x63, 0x61, 0x66, 0xe9];
  const pages = {
    header: { type: "text/html; charset=iso-8859-1", body: bytes("<p>", latin) },
    quoted: { type: 'text/html; Charset="ISO-8859-1"', body: bytes("<p>", latin) },
    meta: { type: "text/html", body: bytes("<meta charset=windows-1252><p>", latin) },
    old: {
      type: "text/html",
      body: bytes(`<meta http-equiv="content-type" content="text/html; charset=latin1"><p>`, latin),
    },
    lying: { type: "text/html; charset=no-such-thing", body: bytes("<p>caf", [0xc3, 0xa9]) },
    none: { type: "text/html", body: bytes("<p>", latin) },
    utf8: { type: "text/html", body: bytes("<p>caf", [0xc3, 0xa9]) },
    mark: { type: "text/html; charset=iso-8859-1", body: bytes([0xef, 0xbb, 0xbf], "<p>caf", [0xc3, 0xa9]) },
    wide: { type: "text/html", body: bytes([0xff, 0xfe], [..."<p>café"].flatMap((one) => [one.charCodeAt(0), 0])) },
    sjis: { type: "text/plain; charset=shift_jis", body: bytes([0x93, 0xfa, 0x96, 0x7b]) },
  };
  await withSite(serveAll(pages), async ({ origin }) => {
    await withFetcher({ allow: [origin] }, async ({ text }) => {
      for (const name of Object.keys(pages)) {
        assertEquals([name, await text(`${origin}/${name}`)], [name, name === "sjis" ? "日本" : "café"]);
      }
    });
  });
});

Deno.test("text stays as it is; other types are refused, and so is what is not what its type says", async () => {
  const pages = {
    plain: { type: "text/plain", body: "a <b> c" },
    markdown: { type: "text/markdown; charset=utf-8", body: "# a" },
    json: { type: "application/json", body: `{"a": 1}` },
    problem: { type: "application/problem+json", body: "{}" },
    csv: { type: "text/csv", body: "a,b" },
    untyped: { body: "<!doctype html><p>hello" },
    pdf: { type: "application/pdf", body: pdfOf(["First page", "Second page"], "A title") },
  };
  const refused = {
    image: { type: "image/png", body: bytes([0x89], "PNG") },
    binary: { type: "application/octet-stream", body: "text" },
    script: { type: "text/javascript", body: "alert(1)" },
    unknown: { body: "hello" },
    "html-of-zeros": { type: "text/html", body: bytes("<p>", [0, 1, 2, 0]) },
    "text-of-zeros": { type: "text/plain", body: bytes([0, 0, 0]) },
    "no-pdf": { type: "application/pdf", body: "<p>hello" },
    "broken-pdf": { type: "application/pdf", body: "%PDF-1.7\ngarbage" },
    "strange-coding": { type: "text/plain", body: "hello", headers: { "content-encoding": "rot13" } },
  };
  await withSite(serveAll({ ...pages, ...refused }), async ({ origin }) => {
    await withFetcher({ allow: [origin] }, async ({ fetch, text, codeOf }) => {
      for (const [name, { body }] of Object.entries(pages).slice(0, 5)) {
        assertEquals(await text(`${origin}/${name}`), body);
      }
      assertEquals(await text(`${origin}/untyped`), "hello");
      const pdf = await fetch(`${origin}/pdf`, 1_000, new AbortController().signal);
      assertEquals([pdf.title, pdf.text, pdf.mediaType], ["A title", "First page\n\nSecond page", "application/pdf"]);
      for (const name of Object.keys(refused)) {
        assertEquals([name, await codeOf(`${origin}/${name}`)], [name, "unsupported_type"]);
      }
    });
  });
});

Deno.test("a page that is broken is read as far as it goes", async () => {
  const broken = [
    "<p>hello",
    "<html><body><div><p>hello</span></b></body></html></div>",
    "hello",
    "<html>hello",
    "<p>hello<",
    "<p>hello<!-- no end",
    "<p>hello<script>no end",
    "<!doctype html><frameset><noframes><p>hello",
    "<table><tr><td>hello",
    `<a href="javascript:alert(1)">hello</a>`,
    `<a href="http://[">hello</a>`,
  ];
  await withSite((request) => html(broken[Number(new URL(request.url).pathname.slice(1))]!), async ({ origin }) => {
    await withFetcher({ allow: [origin] }, async ({ text }) => {
      for (const [index, page] of broken.entries()) {
        assertEquals([page, /hello/.test(await text(`${origin}/${index}`))], [page, true]);
      }
    });
  });
});

Deno.test("answers of every failing status are no pages, and a site that refuses more is reported so", async () => {
  await withSite((request) => {
    const status = Number(new URL(request.url).pathname.slice(1));
    return new Response(status === 304 ? null : "no", { status });
  }, async ({ origin }) => {
    await withFetcher({ allow: [origin] }, async ({ codeOf }) => {
      for (const status of [300, 304, 400, 401, 403, 404, 410, 500, 503]) {
        assertEquals([status, await codeOf(`${origin}/${status}`)], [status, "not_accessible"]);
      }
      assertEquals(await codeOf(`${origin}/429`), "too_many_requests");
      assertEquals(await codeOf(`http://127.0.0.1:1/`), "not_allowed");
    });
    await withFetcher({ allow: ["http://127.0.0.1:1"] }, async ({ codeOf }) => {
      assertEquals(await codeOf("http://127.0.0.1:1/"), "not_accessible");
    });
  });
});

Deno.test("what is too long, endless, slow or broken off ends in time", async () => {
  const endless = () =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(97)) }), {
      headers: { "content-type": "text/plain" },
    });
  const silent = () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(bytes("a")) }));
  const never = Promise.withResolvers<Response>();
  const serve = (request: Request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/endless") return endless();
    if (pathname === "/silent") return silent();
    if (pathname === "/never") return never.promise;
    const headers = { "content-type": "text/plain", "content-encoding": "gzip" };
    if (pathname === "/bomb") return new Response(bombOf(64), { headers });
    return new Response(Uint8Array.from(gzipSync("hello".repeat(10_000)).subarray(0, 60)), { headers });
  };
  await withSite(serve, async ({ origin }) => {
    const limits = { pageMs: 1_500, bytes: 2 ** 20 };
    await withFetcher({ allow: [origin], limits }, async ({ codeOf }) => {
      assertEquals(await codeOf(`${origin}/endless`), "too_large");
      assertEquals(await codeOf(`${origin}/bomb`), "too_large");
      assertEquals(await codeOf(`${origin}/cut`), "not_accessible");
      assertEquals(await codeOf(`${origin}/silent`), "not_accessible");
      assertEquals(await codeOf(`${origin}/never`), "not_accessible");
    });
    never.resolve(new Response());
  });
});

Deno.test("a length that lies is no page: too much said, or too little", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answers = [
    "content-length: 100\r\n\r\nhello",
    "content-length: 2\r\n\r\nhello",
    "content-length: -1\r\n\r\nhello",
    "transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nhello",
    "transfer-encoding: chunked\r\n\r\nzz\r\nhello",
  ];
  const serving = (async () => {
    for (const answer of answers) {
      const connection = await listener.accept();
      await connection.read(new Uint8Array(4_096));
      await connection.write(bytes(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n${answer}`));
      connection.close();
    }
  })();
  const origin = `http://127.0.0.1:${listener.addr.port}`;
  await withFetcher({ allow: [origin], limits: { pageMs: 5_000 } }, async ({ codeOf, text }) => {
    assertEquals(await codeOf(`${origin}/`), "not_accessible");
    assertEquals(await text(`${origin}/`), "he");
    for (const _ of answers.slice(2)) assertEquals(await codeOf(`${origin}/`), "not_accessible");
  });
  await serving;
  listener.close();
});

Deno.test("a caller who leaves ends the fetch", async () => {
  const gone = Promise.withResolvers<void>();
  await withSite((request) => {
    request.signal.addEventListener("abort", () => gone.resolve());
    return new Response(new ReadableStream({ cancel: () => gone.resolve() }), {
      headers: { "content-type": "text/plain" },
    });
  }, async ({ origin, asked }) => {
    await withFetcher({ allow: [origin] }, async ({ fetch }) => {
      const leaving = new AbortController();
      const fetching = fetch(`${origin}/`, 100, leaving.signal).then(() => "page", (reason) => reason);
      while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      leaving.abort("left");
      assertEquals(await fetching, "left");
      await gone.promise;
    });
  });
});

Deno.test("a host gets two requests at once, others wait; beyond the limit nothing is fetched", async () => {
  let [running, most] = [0, 0];
  const open = Promise.withResolvers<void>();
  await withSite(async () => {
    most = Math.max(most, ++running);
    await open.promise;
    running--;
    return html("<p>hello");
  }, async ({ origin, asked }) => {
    await withFetcher({ allow: [origin], limits: { inAll: 4 } }, async ({ codeOf }) => {
      const fetches = Array.from({ length: 4 }, (_, index) => codeOf(`${origin}/${index}`));
      while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
      assertEquals(await codeOf(`${origin}/more`), "too_many_requests");
      open.resolve();
      assertEquals(await Promise.all(fetches), ["ok", "ok", "ok", "ok"]);
      assertEquals([most, asked.length], [2, 4]);
    });
  });
});

Deno.test("whoever keeps a slow host busy keeps nobody else from it", async () => {
  const open = Promise.withResolvers<void>();
  const serve = async (request: Request) => {
    if (new URL(request.url).pathname !== "/quick") await open.promise;
    return html("<p>hello");
  };
  await withSite(serve, async ({ origin, asked }) => {
    await withFetcher({ allow: [origin] }, async ({ codeOf }) => {
      const slow = Array.from({ length: 24 }, (_, index) => codeOf(`${origin}/${index}`, "greedy"));
      assertEquals(await codeOf(`${origin}/25`, "greedy"), "too_many_requests");
      while (asked.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
      assertEquals(await codeOf(`${origin}/quick`, "modest"), "ok");
      open.resolve();
      assertEquals(await Promise.all(slow), Array(24).fill("ok"));
    });
  });
});

Deno.test("robots.txt is asked for once and heeded: also after a redirect, and where it cannot be had", async () => {
  let robots = () => new Response("user-agent: *\ndisallow: /private");
  await withSite((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/robots.txt") return robots();
    if (pathname === "/moved") return new Response(null, { status: 302, headers: { location: "/private/a" } });
    return html("<p>hello");
  }, async ({ origin, asked }) => {
    const options = { allow: [origin], obeysRobots: true };
    const robotsAsked = () => asked.filter((path) => path === "/robots.txt").length;
    let now = 0;
    await withFetcher({ ...options, now: () => now }, async ({ codeOf }) => {
      assertEquals(await codeOf(`${origin}/open`), "ok");
      assertEquals(await codeOf(`${origin}/private/a`), "not_allowed");
      assertEquals(await codeOf(`${origin}/moved`), "not_allowed");
      assertEquals([robotsAsked(), asked.includes("/private/a")], [1, false]);
      robots = () => new Response("no", { status: 500 });
      now += 2 * 60 * 60_000;
      assertEquals([await codeOf(`${origin}/open`), robotsAsked()], ["not_accessible", 2]);
      robots = () => new Response("no", { status: 404 });
      now += 2 * 60_000;
      assertEquals([await codeOf(`${origin}/private/a`), robotsAsked()], ["ok", 3]);
    });
    robots = () => new Response(null, { status: 302, headers: { location: "http://10.0.0.1/robots.txt" } });
    await withFetcher(options, async ({ codeOf }) => assertEquals(await codeOf(`${origin}/open`), "not_accessible"));
    await withFetcher({ allow: [origin] }, async ({ codeOf }) => assertEquals(await codeOf(`${origin}/open`), "ok"));
  });
});

Deno.test("a page is asked for with no more than its name: no cookie, no referrer, no credential", async () => {
  const heads: Record<string, string>[] = [];
  await withSite((request) => {
    heads.push(Object.fromEntries(request.headers));
    const headers = { "set-cookie": "a=b", location: "/next" };
    return heads.length === 1 ? new Response(null, { status: 302, headers }) : html("<p>hello");
  }, async ({ origin, port }) => {
    await withFetcher({ allow: [origin] }, async ({ text }) => {
      await text(`${origin}/`);
      await text(`${origin}/`);
    });
    assertEquals(heads.length, 3);
    for (const head of heads) {
      assertEquals(Object.keys(head).sort(), ["accept", "accept-encoding", "connection", "host", "user-agent"]);
      assertEquals([head["user-agent"], head.host], ["Laneway", `127.0.0.1:${port}`]);
    }
  });
});
