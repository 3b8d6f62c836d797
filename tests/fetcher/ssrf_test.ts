import { assert, assertEquals } from "@std/assert";
import { html, withFetcher, withSite } from "../support/fetcher.ts";
import { ADDRESSES, FORMS } from "./tricks.ts";

Deno.test("what leads inside is refused: every way to write an address, and every form that no page has", async () => {
  assert(ADDRESSES.length + FORMS.length >= 60);
  await withFetcher({}, async ({ codeOf }) => {
    for (const url of ADDRESSES) assertEquals([url, await codeOf(url)], [url, "not_allowed"]);
    for (const url of FORMS) {
      const code = await codeOf(url);
      assert(code === "not_allowed" || code === "invalid_input", `${url}: ${code}`);
    }
    assertEquals(await codeOf(`http://8.8.8.8/${"a".repeat(2_000)}`), "too_long");
  });
});

Deno.test("a name that stands for an address inside is refused like one that nobody knows", async () => {
  const inside = [
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "::1",
    "fd00::1",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "0.0.0.0",
  ];
  const names = Object.fromEntries(inside.map((address, index) => [`n${index}.test`, [[address]]]));
  await withFetcher({ names: { ...names, "mixed.test": [["8.8.8.8", "127.0.0.1"]] } }, async ({ codeOf }) => {
    for (const scheme of ["http", "https"]) {
      for (const name of [...Object.keys(names), "mixed.test", "unknown.test"]) {
        assertEquals([name, await codeOf(`${scheme}://${name}/`)], [name, "not_accessible"]);
      }
    }
  });
});

Deno.test("a redirect leads nowhere where a request may not go by itself", async () => {
  // What a header can carry, and is no path of the site itself.
  const targets = [...ADDRESSES, ...FORMS].filter((url) =>
    /^[\x21-\x7e]+$/.test(url) && URL.parse(url, "http://site.test")?.host !== "site.test"
  );
  assert(targets.length >= 60);
  await withSite((request) => {
    const at = Number(new URL(request.url).pathname.slice(1));
    return new Response(null, { status: [301, 302, 303, 307, 308][at % 5], headers: { location: targets[at]! } });
  }, async ({ origin }) => {
    await withFetcher({ allow: [origin] }, async ({ codeOf }) => {
      for (const [index, target] of targets.entries()) {
        const code = await codeOf(`${origin}/${index}`);
        assert(code === "not_allowed" || code === "invalid_input", `${target}: ${code}`);
      }
    });
  });
});

Deno.test("a redirect to another port of a listed host is refused, and so is a name inside", async () => {
  await withSite(() => html("secret"), async (secret) => {
    await withSite((request) => {
      const { searchParams } = new URL(request.url);
      return new Response(null, { status: 302, headers: { location: searchParams.get("to")! } });
    }, async ({ origin }) => {
      await withFetcher({ allow: [origin], names: { "inside.test": [["127.0.0.1"]] } }, async ({ codeOf }) => {
        const by = (to: string) => codeOf(`${origin}/?to=${encodeURIComponent(to)}`);
        assertEquals(await by(`${secret.origin}/`), "not_allowed");
        assertEquals(await by(`http://localhost:${secret.port}/`), "not_allowed");
        assertEquals(await by("http://inside.test/"), "not_accessible");
        assertEquals(await by("http://localhost/"), "not_accessible");
      });
    });
    assertEquals(secret.asked, []);
  });
});

Deno.test("redirects are followed five times, and a loop of them ends", async () => {
  await withSite((request) => {
    const { pathname } = new URL(request.url);
    const left = Number(pathname.slice(1));
    if (left === 0) return html("<p>there");
    return new Response(null, { status: 302, headers: { location: Number.isNaN(left) ? pathname : `/${left - 1}` } });
  }, async ({ origin, asked }) => {
    await withFetcher({ allow: [origin] }, async ({ codeOf, fetch }) => {
      const page = await fetch(`${origin}/5`, 100, new AbortController().signal);
      assertEquals([page.text, page.url], ["there", `${origin}/0`]);
      assertEquals(await codeOf(`${origin}/6`), "not_accessible");
      const before = asked.length;
      assertEquals(await codeOf(`${origin}/loop`), "not_accessible");
      assertEquals(asked.length - before, 6);
    });
  });
});

Deno.test("only what the list has is open: scheme, host and port; a star stands for all names below", async () => {
  await withSite(() => html("<p>inside"), async ({ origin, port }) => {
    await withFetcher({ allow: [`http://*.local.test:${port}`, "http://127.0.0.1"] }, async ({ codeOf }) => {
      assertEquals(await codeOf(`${origin}/`), "not_allowed");
      assertEquals(await codeOf(`https://a.local.test:${port}/`), "not_allowed");
      assertEquals(await codeOf(`http://local.test:${port}/`), "not_allowed");
      assertEquals(await codeOf(`http://evil-local.test:${port}/`), "not_allowed");
    });
    await withFetcher({ allow: [origin] }, async ({ text }) => assertEquals(await text(`${origin}/`), "inside"));
  });
});
