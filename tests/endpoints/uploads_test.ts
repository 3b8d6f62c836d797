/** Uploads in parts, by the vendor's library: what becomes of them, what they reserve, and who may do what with them. */
import { createHash } from "node:crypto";
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import OpenAI, { toFile } from "openai";
import { randomId } from "../../src/util/digest.ts";
import { CONFIG, type ConfigInput, ENV, newApp, NOW } from "../support/app.ts";
import { law } from "../support/law.ts";

const KEYS = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }];
const HOUR_MS = 3_600_000;

function newRig(files: ConfigInput["files"] = {}) {
  const clock = { time: NOW };
  const app = newApp({
    // Without a server, a form has no declared length and may be as large as any.
    config: { ...CONFIG, keys: KEYS, files, limits: { uploadBytes: 2 ** 33 } },
    newId: randomId,
    now: () => clock.time,
  });
  const fetchApp: typeof fetch = (input, init) => app.fetch(new Request(input, init));
  const clientOf = (apiKey: string) =>
    new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey, maxRetries: 0, fetch: fetchApp });
  return { app, clock, team: clientOf(ENV.TEAM_KEY!), guest: clientOf(ENV.GUEST_KEY!) };
}

function begin({ uploads }: OpenAI, bytes: number) {
  return uploads.create({ bytes, filename: "läne.txt", mime_type: "text/plain", purpose: "user_data" });
}

async function addPart({ uploads }: OpenAI, id: string, text: string): Promise<string> {
  const data = await toFile(new TextEncoder().encode(text), "blob");
  return (await uploads.parts.create(id, { data })).id;
}

/** The error of a request that must fail. */
async function refusalOf(work: Promise<unknown>) {
  const { status, param, code } = await assertRejects(() => work, OpenAI.APIError);
  return { status, param, code };
}

Deno.test("uploads: parts become a file in the order that their client names, whatever order they came in", async () => {
  const { team } = newRig();
  const pending = await begin(team, 6);
  const { id } = pending;
  assert(/^upload_[0-9a-f]{32}$/.test(id), id);
  const facts = { bytes: 6, created_at: NOW / 1000, filename: "läne.txt", object: "upload", purpose: "user_data" };
  assertEquals(pending, { ...facts, id, expires_at: NOW / 1000 + 3_600, status: "pending" } as typeof pending);
  const fileId = id.replace("upload_", "file-");
  assertEquals((await team.files.list()).data, []);
  await assertRejects(() => team.files.retrieve(fileId), OpenAI.NotFoundError);
  const [end, start] = await Promise.all([addPart(team, id, "def"), addPart(team, id, "abc")]);
  const part_ids = [start!, end!];
  const md5 = createHash("md5").update("abcdef").digest("hex");
  assertEquals(await refusalOf(team.uploads.complete(id, { part_ids, md5: "0".repeat(32) })), {
    status: 400,
    param: "md5",
    code: null,
  });
  const done = await team.uploads.complete(id, { part_ids, md5 });
  assertEquals([done.status, done.file?.id, done.file?.bytes], ["completed", fileId, 6]);
  assertEquals(await team.files.retrieve(fileId), done.file!);
  assertEquals(await (await team.files.content(fileId)).text(), "abcdef");
});

law(
  "uploads: of parts in any number and order, the file is what the order says",
  fc.array(fc.string({ minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 6 }).chain((parts) =>
    fc.tuple(fc.constant(parts), fc.shuffledSubarray([...parts.keys()], { minLength: parts.length }))
  ),
  async ([parts, order]) => {
    const { team } = newRig();
    const texts = parts.map((part) => part.toWellFormed());
    const expected = order.map((at) => texts[at]!).join("");
    const { id } = await begin(team, new TextEncoder().encode(expected).length);
    const ids: string[] = [];
    for (const text of texts) ids.push(await addPart(team, id, text));
    const { file } = await team.uploads.complete(id, { part_ids: order.map((at) => ids[at]!) });
    assertEquals(await (await team.files.content(file!.id)).text(), expected);
  },
);

Deno.test("uploads: what is not all of it, too much, twice, of another upload or of another key is refused", async () => {
  const { team, guest } = newRig();
  const [{ id }, other] = [await begin(team, 6), await begin(team, 3)];
  const part = await addPart(team, id, "abc");
  const foreign = await addPart(team, other.id, "xyz");
  const refused = { status: 400, param: "part_ids", code: null };
  for (const part_ids of [[], [part], [part, part], [part, foreign], [part, `${part}9`], [part, "part"]]) {
    assertEquals(await refusalOf(team.uploads.complete(id, { part_ids })), refused, part_ids.join());
  }
  assertEquals((await refusalOf(addPart(team, id, "four"))).status, 400);
  assertEquals((await refusalOf(addPart(team, id, ""))).status, 400);
  const acts = [
    () => addPart(guest, id, "def"),
    () => guest.uploads.complete(id, { part_ids: [part] }),
    () => guest.uploads.cancel(id),
  ];
  for (const act of acts) assertEquals((await refusalOf(act())).status, 404);
  const rest = await addPart(team, id, "def");
  await team.uploads.complete(id, { part_ids: [part, rest] });
  // The file is no upload any more.
  assertEquals((await refusalOf(team.uploads.cancel(id))).status, 400);
  assertEquals((await refusalOf(addPart(team, id, "g"))).status, 400);
  assertEquals((await refusalOf(team.uploads.complete(id, { part_ids: [part, rest] }))).status, 400);
  assertEquals(await (await team.files.content(id.replace("upload_", "file-"))).text(), "abcdef");
});

Deno.test("uploads: bad fields are named", async () => {
  const { team } = newRig();
  const good = { bytes: 3, filename: "a.txt", mime_type: "text/plain", purpose: "user_data" };
  const bad: Record<string, unknown> = { bytes: 0, filename: "", mime_type: 5, purpose: "fun" };
  for (const [param, value] of Object.entries(bad)) {
    const body = { ...good, [param]: value } as OpenAI.UploadCreateParams;
    assertEquals(await refusalOf(team.uploads.create(body)), { status: 400, param, code: null });
  }
  const brief = { ...good, expires_after: { anchor: "created_at", seconds: 5 } } as OpenAI.UploadCreateParams;
  assertEquals((await refusalOf(team.uploads.create(brief))).param, "expires_after[seconds]");
});

Deno.test("uploads: what was begun counts until it is cancelled or an hour is over, for the key and for all", async () => {
  const bounds = { bytesPerKey: 30_000, totalBytes: 40_000 };
  const { team, guest, clock } = newRig(bounds);
  const full = { status: 400, param: null, code: "storage_quota_exceeded" };
  const { id } = await begin(team, 20_000);
  assertEquals({ ...await refusalOf(begin(team, 20_000)), param: null }, full);
  assertEquals({ ...await refusalOf(begin(guest, 20_000)), param: null }, { ...full, status: 503 });
  await addPart(team, id, "a");
  assertEquals((await team.uploads.cancel(id)).status, "cancelled");
  await assertRejects(() => addPart(team, id, "b"), OpenAI.NotFoundError);
  const second = await begin(guest, 20_000);
  clock.time += HOUR_MS;
  assertEquals((await refusalOf(addPart(guest, second.id, "a"))).status, 404);
  await begin(team, 20_000);
});

Deno.test("uploads: in the form of Gemini, too, a complete file is not cancelled", async () => {
  const { app, team } = newRig();
  const send = (query: string, headers: Record<string, string>, body: string) =>
    app.fetch(
      new Request(`http://gateway/oss/upload/v1beta/files${query}`, {
        method: "POST",
        headers: { "x-goog-api-key": ENV.TEAM_KEY!, ...headers },
        body,
      }),
    );
  const start = { "x-goog-upload-command": "start", "x-goog-upload-header-content-length": "3" };
  const begun = await send("", { ...start, "content-type": "application/json" }, "{}");
  const { search } = new URL(begun.headers.get("x-goog-upload-url")!);
  const done = await (await send(search, { "x-goog-upload-command": "upload, finalize" }, "abc")).json();
  const cancelled = await send(search, { "x-goog-upload-command": "cancel" }, "");
  assertEquals([cancelled.status, (await cancelled.json()).error.status], [400, "INVALID_ARGUMENT"]);
  assertEquals((await team.files.retrieve(done.file.name.replace("files/", "file-"))).bytes, 3);
});
