/** Documents in conversations, from a request to what the upstream gets, by way of a fetcher in this process. */
import type { AddressInfo } from "node:net";
import process from "node:process";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { strToU8, zipSync } from "fflate";
import type { JsonObject } from "../../src/canonical/json.ts";
import { Documents } from "../../src/fetcher/documents.ts";
import { officeText } from "../../src/fetcher/office.ts";
import { DocumentReader } from "../../src/fetcher/reader.ts";
import { createFetcherServer } from "../../src/fetcher/server.ts";
import { CONFIG, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { docxOf, pdfOf, pptxOf, xlsxOf } from "../support/documents.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

/** The share of the processor's time that one document may take, in milliseconds. */
const READING_MS = 1_500;
const TOKEN = "a token of more than sixteen characters";

interface Rig {
  ask(content: JsonObject[], more?: JsonObject[]): Promise<{ status: number; notes: string | null; body: JsonObject }>;
  said(): JsonObject[];
  /** How many documents the fetcher was asked to read. */
  read(): number;
}

/** `modalities`: those of the model. Without a fetcher, nothing listens. */
async function withRig(
  { modalities, documents = {}, hasFetcher = true, limits }: {
    modalities?: ("text" | "image" | "file")[];
    documents?: ConfigInput["documents"];
    hasFetcher?: boolean;
    limits?: ConfigInput["limits"];
  },
  use: (rig: Rig) => Promise<void>,
): Promise<void> {
  let read = 0;
  // Other tests may hold much memory in this process.
  const reader = new DocumentReader(() => {}, { memoryBytes: Infinity });
  const converter = new Documents(reader);
  const server = createFetcherServer({
    token: TOKEN,
    fetch: () => Promise.reject(new Error("No page was asked for")),
    convert(...asked) {
      read++;
      return converter.convert(...asked);
    },
    say() {},
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const upstream = fakeUpstream(() => answerWhole());
  const model = { ...CONFIG.lanes.oss.models.model, ...(modalities && { inputModalities: modalities }) };
  const app = newApp({
    config: { ...CONFIG, documents, ...(limits && { limits }), lanes: { oss: { models: { model } } } } as ConfigInput,
    env: hasFetcher ? { ...ENV, LANEWAY_FETCHER_URL: `http://127.0.0.1:${port}`, LANEWAY_FETCHER_TOKEN: TOKEN } : ENV,
    fetch: (input, init) => {
      const request = new Request(input, init);
      return new URL(request.url).port === String(port) ? fetch(request) : upstream.fetch(request);
    },
  });
  try {
    await use({
      async ask(content, more = []) {
        const messages = [{ role: "user", content }, ...more];
        const response = await app.post("/oss/v1/chat/completions", { model: "model", messages });
        return { status: response.status, notes: response.headers.get("x-laneway-notes"), body: await response.json() };
      },
      said: () => JSON.parse(upstream.asked.at(-1)!.body).messages as JsonObject[],
      read: () => read,
    });
  } finally {
    await app.close();
    reader.close();
    await new Promise((resolve) => server.close(resolve));
  }
}

function fileOf(bytes: Uint8Array, name: string, type: string): JsonObject {
  return { type: "file", file: { file_data: `data:${type};base64,${bytes.toBase64()}`, filename: name } };
}

const PDF = fileOf(pdfOf(["Hello pages", "Second page", "Third page"]), "a.pdf", "application/pdf");
const BROKEN = fileOf(strToU8("%PDF-1.4 and nothing else"), "b.pdf", "application/pdf");

/** The width and height of a PNG. */
function sizeOf({ image_url }: JsonObject): [number, number] {
  const bytes = Uint8Array.fromBase64((image_url as { url: string }).url.replace("data:image/png;base64,", ""));
  const view = new DataView(bytes.buffer);
  return [view.getUint32(16), view.getUint32(20)];
}

Deno.test("documents: a model that sees gets a PDF's text and pages, as many as the configuration allows", () =>
  withRig({ modalities: ["text", "image"], documents: { pages: 2 } }, async ({ ask, said, read }) => {
    const { status, notes } = await ask([PDF, { type: "text", text: "?" }]);
    assertEquals([status, notes], [200, "replaced a PDF with its text and 2 of 3 pages"]);
    const [text, ...pictures] = said()[0]!.content as JsonObject[];
    assertEquals(text, { type: "text", text: "a.pdf\n\nHello pages\n\nSecond page\n\nThird page" });
    assertEquals(pictures.map(({ type }) => type), ["image_url", "image_url", "text"]);
    assertEquals(sizeOf(pictures[0]!), [1200, 1200]);
    // The next turn sends it again.
    await ask([PDF, { type: "text", text: "?" }]);
    assertEquals(read(), 1);
  }));

Deno.test("documents: a model that does not see gets the text alone, and one that reads files the file", async () => {
  await withRig({ modalities: ["text"] }, async ({ ask, said }) => {
    const { status, notes } = await ask([PDF]);
    assertEquals([status, notes], [200, "replaced a PDF with its text"]);
    assertEquals(said()[0]!.content, "a.pdf\n\nHello pages\n\nSecond page\n\nThird page");
  });
  await withRig({ modalities: ["text", "file"] }, async ({ ask, said, read }) => {
    assertEquals((await ask([PDF])).status, 200);
    assertEquals(said()[0]!.content as unknown, [PDF]);
    assertEquals(read(), 0);
  });
});

const OFFICE = "application/vnd.openxmlformats-officedocument";
const WORD = docxOf(
  '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Plan</w:t></w:r></w:p>' +
    "<w:p><w:r><w:t>First &amp; last</w:t></w:r></w:p>" +
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
);
const SHEET = xlsxOf(
  '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1"><v>2.5</v></c></row>' +
    '<row r="2"><c r="A2" t="inlineStr"><is><t>x, y</t></is></c><c r="B2" s="1"/></row>',
  ["name"],
);

Deno.test("documents: office documents, tables, pages and code become text under their names", () =>
  withRig({ modalities: ["text"] }, async ({ ask, said }) => {
    const { status } = await ask([
      fileOf(WORD, "plan.docx", `${OFFICE}.wordprocessingml.document`),
      // Its name alone tells what it is.
      fileOf(SHEET, "costs.xlsx", "application/octet-stream"),
      fileOf(pptxOf("One", "Two"), "talk.pptx", `${OFFICE}.presentationml.presentation`),
      fileOf(strToU8("a,b"), "a.csv", "text/csv"),
      fileOf(strToU8("let a = 1;"), "a.ts", "text/plain"),
    ]);
    assertEquals(status, 200);
    const texts = said()[0]!.content as JsonObject[];
    assertEquals(texts.map(({ text }) => text), [
      "plan.docx\n\n# Plan\n\nFirst & last\n\na  | b  |",
      'costs.xlsx\n\n## Costs & more\n\nname,,2.5\n"x, y"',
      "talk.pptx\n\n## Slide 1\n\nOne\n\n## Slide 2\n\nTwo",
      "a.csv\n\na,b",
      "a.ts\n\nlet a = 1;",
    ]);
  }));

Deno.test("documents: one that cannot be read is a 400 in the present turn, and in the history a noted placeholder", () =>
  withRig({ modalities: ["text"] }, async ({ ask, said }) => {
    const refused = await ask([BROKEN]);
    const { param } = refused.body.error as JsonObject;
    assertEquals([refused.status, param], [400, "messages[0].content[0]"]);
    const answered = [{ role: "assistant", content: "Hm." }, { role: "user", content: "And now?" }];
    const { status, notes } = await ask([BROKEN], answered);
    assertEquals([status, notes], [200, "replaced a document that could not be read with text"]);
    assertMatch(String(said()[0]!.content), /^\[document omitted: The document is not what its type says/);
  }));

Deno.test("documents: other files are text if they can be, and otherwise a 400 that names their type", () =>
  withRig({ modalities: ["text"] }, async ({ ask, said }) => {
    const texts = [
      fileOf(strToU8("all: build"), "Makefile", "application/octet-stream"),
      fileOf(Uint8Array.of(0xff, 0xfe, 0x61, 0, 0xe4, 0), "a.txt", "text/plain"),
      fileOf(Uint8Array.of(0x61, 0xe4), "b.txt", "text/plain"),
    ];
    assertEquals((await ask(texts)).status, 200);
    const said0 = said()[0]!.content as JsonObject[];
    assertEquals(said0.map(({ text }) => text), ["Makefile\n\nall: build", "a.txt\n\naä", "b.txt\n\naä"]);
    const { status, body } = await ask([fileOf(Uint8Array.of(0, 1, 2), "a.zip", "application/zip")]);
    assertEquals(status, 400);
    assertMatch(String((body.error as JsonObject).message), /Files of type "application\/zip" are not read/);
  }));

Deno.test("documents: however often a small one is named, its text stays within the largest body", () => {
  const bytes = docxOf(`<w:p><w:t>${"a".repeat(9_000)}</w:t></w:p>`);
  const small = fileOf(bytes, "a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
  return withRig({ limits: { bodyBytes: 30_000 } }, async ({ ask, said }) => {
    const times = (count: number) => Array.from({ length: count }, () => small);
    assertEquals((await ask(times(3))).status, 200);
    assertEquals((await ask(times(4))).status, 413);
    const later = [{ role: "assistant", content: "Yes." }, { role: "user", content: "And?" }];
    assertEquals((await ask(times(4), later)).status, 200);
    assertMatch(JSON.stringify(said()[0]), /document omitted: The request with the text of its documents is larger/);
  });
});

Deno.test("documents: without a fetcher they are a 400, and an old conversation goes on", () =>
  withRig({ modalities: ["text"], hasFetcher: false }, async ({ ask }) => {
    const { status, body } = await ask([PDF]);
    assertEquals(status, 400);
    assertMatch(String((body.error as JsonObject).message), /no fetcher runs/);
    assertEquals((await ask([PDF], [{ role: "assistant", content: "A" }, { role: "user", content: "B" }])).status, 200);
  }));

Deno.test("documents: a PDF of huge pages, and one of very many, are read within the limits", () =>
  withRig({ modalities: ["text", "image"], documents: { pages: 1 } }, async ({ ask, said }) => {
    const huge = fileOf(pdfOf(["Huge"], 14_400_000), "huge.pdf", "application/pdf");
    assertEquals((await ask([huge])).status, 200);
    assertEquals(sizeOf((said()[0]!.content as JsonObject[])[1]!), [1200, 1200]);
    const many = fileOf(
      pdfOf(Array.from({ length: 2_500 }, (_, index) => `Page ${index}`)),
      "m.pdf",
      "application/pdf",
    );
    assertEquals((await ask([many])).status, 200);
    const [text] = said()[0]!.content as JsonObject[];
    assert(String(text!.text).endsWith("Page 1999"));
  }));

Deno.test("office: bombs are refused before they are inflated, and lies about sizes too", () => {
  const bomb = zipSync({ "word/document.xml": [new Uint8Array(100 * 2 ** 20), { level: 9 }] });
  assert(bomb.length < 200_000);
  assertThrows(() => officeText("docx", bomb, 1_000));
  const many = zipSync(
    Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`f${index}`, new Uint8Array()])),
  );
  assertThrows(() => officeText("docx", many, 1_000));
  // The size in the directory is one byte.
  const lying = zipSync({ "word/document.xml": [new Uint8Array(2 ** 20).fill(97), { level: 9 }] });
  const view = new DataView(lying.buffer);
  const directory = view.getUint32(lying.length - 6, true);
  view.setUint32(directory + 24, 1, true);
  let length = 0;
  try {
    length = officeText("docx", lying, 10_000_000).length;
  } catch {
    // Refused, which is as good.
  }
  assert(length <= 1, `${length} characters`);
  for (const bytes of [new Uint8Array(), strToU8("PK"), zipSync({ "other.xml": strToU8("<a>") })]) {
    assertThrows(() => officeText("xlsx", bytes, 1_000));
  }
});

Deno.test("office: markup that never ends is read in one pass", () => {
  const texts: Record<string, string> = {
    "open tags": "<w:p>".repeat(200_000),
    "open comments": "<!--".repeat(200_000),
    "brackets": "<".repeat(1_000_000),
    "entities": `<!DOCTYPE a [<!ENTITY b "${"x".repeat(1_000)}">]><w:t>${"&b;".repeat(200_000)}</w:t>`,
    "attributes": `<w:p ${'a="b" '.repeat(200_000)}><w:t>x</w:t>`,
  };
  for (const [name, text] of Object.entries(texts)) {
    const since = process.threadCpuUsage();
    officeText("docx", docxOf(text), 10_000);
    const { user, system } = process.threadCpuUsage(since);
    assert((user + system) / 1000 < READING_MS, `${name}: ${(user + system) / 1000} ms`);
  }
});
