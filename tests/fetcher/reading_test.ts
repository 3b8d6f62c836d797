import process from "node:process";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { readHtml } from "../../src/fetcher/html.ts";
import { Reader } from "../../src/fetcher/reader.ts";
import { Refusal } from "../../src/fetcher/refusal.ts";

const MEGABYTE = 2 ** 20;
const times = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join("");
const read = (page: string, isHasty = false) => readHtml(page, "http://a.test/b/c", 10_000, isHasty);

/** What one page may take of the processor, in milliseconds: a fetcher gives up a thread after eight seconds. */
const READING_MS = 1_500;

/** Pages of about a megabyte each that a tree, or a careless pattern, would take very long for. */
const HARD: Record<string, [page: string, text: RegExp]> = {
  "nested blocks": ["<div>".repeat(MEGABYTE / 5) + "hello", /^hello$/],
  "nested marks": ["<b><i>".repeat(MEGABYTE / 6) + "hello", /^hello$/],
  "paragraphs without an end": ["<p>x".repeat(MEGABYTE / 4), /^x\n+x/],
  "tables in tables": ["<table><tr><td>".repeat(MEGABYTE / 15) + "hello", /^hello$/],
  "scripts without an end": ["<script>".repeat(MEGABYTE / 8) + "hello", /hello/],
  "ends of other scripts": ["<style>".repeat(1_000) + "</script>".repeat(MEGABYTE / 9), /^$/],
  "comments without an end": ["hello" + "<!--".repeat(MEGABYTE / 4), /^hello/],
  "nothing but brackets": ["<".repeat(MEGABYTE), /^<+$/],
  "one endless tag": ["hello<a " + "a=b ".repeat(MEGABYTE / 4), /^hello$/],
  "spaces": [`hello<pre>${" ".repeat(MEGABYTE)}</pre>`, /hello/],
  "entities": ["&amp;".repeat(MEGABYTE / 5), /^&+$/],
  "a long style": [`<p style="${"a:b;".repeat(MEGABYTE / 4)}">hello`, /hello/],
  "commas": [`<p>${",".repeat(MEGABYTE)}`, /^,+$/],
  "a title of a megabyte": [`<title>${"a".repeat(MEGABYTE)}</title>hello`, /hello/],
  "a tag of many attributes": [`hello<a ${times(100_000, (index) => `a${index}=b `)}>`, /^hello$/],
  "tags of many attributes": [times(2_000, () => `<p ${times(25, (index) => `a${index}=b `)}>hello`), /^hello/],
  "signs that begin no tag": ["a < b ".repeat(MEGABYTE / 6), /^a < b a < b/],
  "nested lists": [times(20, () => `${"<ul><li>".repeat(100)}hello${"</li></ul>".repeat(100)}`), /hello/],
  "pictures": [times(29_000, (index) => `<img src="/${index}.png" alt="picture ${index}">`), /^picture 0/],
  "a table": [
    `<table>${times(5_000, (index) => `<tr><td>row ${index}</td><td>value</td><td>words</td></tr>`)}</table>`,
    /^\| row 0 \| value \| words \|/,
  ],
  "links": [times(24_000, (index) => `<a href="/${index}">link ${index}</a> `), /^\[link 0\]\(http:\/\/a.test\/0\) /],
};

for (const [name, [page, text]] of Object.entries(HARD)) {
  Deno.test(`reading: ${name} come to an end, long before the limit of a page`, () => {
    const since = process.threadCpuUsage();
    const found = read(page).text;
    read(page, true);
    const { user, system } = process.threadCpuUsage(since);
    assert(text.test(found.slice(0, 10_000)), found.slice(0, 100));
    assert((user + system) / 1000 < READING_MS, `${(user + system) / 1000} ms`);
  });
}

Deno.test("reading: what is beyond the tree of a large page is read as text, each row of a table in a line", () => {
  const rows = times(5_000, (index) => `<tr><td>row ${index}</td><td>value</td></tr>`);
  const { text } = readHtml(`<table>${rows}</table><p>The end`, "http://a.test/", 1_000_000, false);
  for (const row of ["| row 0 | value |", "| row 1000 | value |", "row 4000 | value |", "row 4999 | value |"]) {
    assert(text.split("\n").includes(row), row);
  }
  assert(text.endsWith("The end"));
});

Deno.test("reading: in haste a page keeps its words and lines, and loses only what a tree is for", () => {
  const page =
    `<html><head><title>A &amp; b</title><style>p{}</style></head><body><h1>Head</h1><p>one <b>two</b>&nbsp;three
<p>four&#33; &#x41; &unknown; 1 < 2<script>no</script><!-- no --><br>five</body></html>`;
  const { title, text } = read(page, true);
  assertEquals([title, ...text.split(/\n+/)], ["A & b", "Head", "one two three", "four! A &unknown; 1 < 2", "five"]);
});

Deno.test("reading: links are whole, relative to what the page says", () => {
  assertEquals(
    read("<p><a href=d>x</a> <a href='//b.test/?q=(1)'>y</a> <a href='#z'>z</a>").text,
    "[x](http://a.test/b/d) [y](http://b.test/?q=%281%29) z",
  );
  assertEquals(read("<base href='http://c.test/d/'><a href=e>x</a>").text, "[x](http://c.test/d/e)");
  assertEquals(read("<a href='javascript:a()'>x</a><a href='data:a'>y</a><a href='http://a.test/'> </a>").text, "xy");
});

const job = (html: string) => ({
  kind: "html" as const,
  bytes: new TextEncoder().encode(html),
  url: "http://a.test/",
  most: 1_000,
});
const forever = new AbortController().signal;
const SLOW = `<article>${
  "<p>Bees fly, and <a href='x'>honey</a> comes of it, year after year.</p>".repeat(3_000)
}</article>`;

Deno.test("reading: a page that takes too long is read in haste, and the process is to be started anew", async () => {
  const spoiled: boolean[] = [];
  const reader = new Reader((holdsMuch) => spoiled.push(holdsMuch), { pageMs: 1, memoryBytes: Infinity });
  // A tree takes hundreds of times as long; whether a millisecond is enough without one depends on the machine.
  const page = await reader.read(job(SLOW), forever).catch((thrown) => thrown);
  assert(page instanceof Refusal ? page.code === "too_large" : page.text.startsWith("Bees fly"), JSON.stringify(page));
  assert(spoiled.length >= 1 && !spoiled[0]);
  reader.close();
});

Deno.test("reading: where the process holds too much, nothing more is tried", async () => {
  const spoiled: boolean[] = [];
  const reader = new Reader((holdsMuch) => spoiled.push(holdsMuch), { memoryBytes: 1 });
  await assertRejects(() => reader.read(job(SLOW), forever), Refusal, "too much");
  assertEquals(spoiled, [true]);
  reader.close();
});

Deno.test("reading: whoever leaves while a page is being read costs nobody the process", async () => {
  const spoiled: boolean[] = [];
  const reader = new Reader((holdsMuch) => spoiled.push(holdsMuch), { pageMs: 60_000, memoryBytes: Infinity });
  await reader.read(job("<p>hello"), forever);
  const leaving = new AbortController();
  const left = reader.read(job(SLOW), leaving.signal).catch((reason) => reason);
  leaving.abort(new Error("left"));
  await left;
  assertEquals((await reader.read(job("<p>hello"), forever)).text, "hello");
  assertEquals(spoiled, []);
  reader.close();
});

Deno.test("reading: pages wait for a thread, in their turn or until nobody wants them", async () => {
  const reader = new Reader(() => {}, { memoryBytes: Infinity });
  const leaving = new AbortController();
  const pages = Array.from({ length: 6 }, () => reader.read(job("<p>hello"), forever));
  const left = reader.read(job("<p>hello"), leaving.signal).then(() => "read", (reason) => reason);
  leaving.abort("left");
  assertEquals((await Promise.all(pages)).map(({ text }) => text), Array(6).fill("hello"));
  assertEquals(await left, "left");
  reader.close();
});
