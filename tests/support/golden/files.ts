/**
 * Golden files of uploaded files: for each wire the exchanges with its endpoints, and what a server of chats is sent for files
 * and documents that a conversation of that wire has.
 */
import type { JsonObject } from "../../../src/canonical/json.ts";
import { CONFIG, type ConfigInput, ENV, newApp, NOW } from "../app.ts";
import { answerWhole } from "../chat.ts";
import { fakeUpstream } from "../fake_upstream.ts";
import { layOut, parseTree } from "./tree.ts";

const PDF = "%PDF-1.4\n%%EOF";
const PNG = "\x89PNG\r\n\x1a\n";
const FILES: Record<string, [content: string, type: string]> = {
  "table.csv": ["a,b\n1,2\n", "text/csv"],
  "page.png": [PNG, "image/png"],
  "report.pdf": [PDF, "application/pdf"],
};
/** As the fetcher answers for the PDF. */
const READ = { text: "It is sunny.", isCut: false, pages: 2, pictures: [btoa("first page"), btoa("second page")] };

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

interface Wire {
  key: Record<string, string>;
  /** The requests about files, which may name the ids of the answers before them. */
  requests(ids: Record<string, string>): Iterable<Asking>;
  /** The id in the answer to an upload. */
  idIn(answer: JsonObject): string | undefined;
  /** A conversation with the files of these ids, the last of which is unknown, and with a document in it. */
  conversation(ids: readonly string[]): { path: string; body(part: JsonObject[]): JsonObject; parts: JsonObject[][] };
}

interface Asking {
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** Fields of a form, by which a file is named for one. */
  form?: Record<string, string>;
  body?: string;
}

function* crud(ids: Record<string, string>, more: { form: Record<string, string>; bad: Asking[]; list: string[] }) {
  const path = "/oss/v1/files";
  for (const file of Object.keys(FILES)) yield { method: "POST", path, form: { ...more.form, file } };
  yield* more.bad;
  for (const query of more.list) {
    yield { method: "GET", path: path + query.replace(/\{(.+)\}/, (_, name) => ids[name]!) };
  }
  const [id, last] = [ids["table.csv"], ids["report.pdf"]];
  yield { method: "GET", path: `${path}/${id}` };
  yield { method: "GET", path: `${path}/${id}/content` };
  yield { method: "DELETE", path: `${path}/${last}` };
  yield { method: "GET", path: `${path}/${last}` };
}

function* inParts(ids: Record<string, string>): Iterable<Asking> {
  const path = "/oss/v1/uploads";
  const begun = { bytes: 8, filename: "table.csv", mime_type: "text/csv", purpose: "user_data" };
  const json = { "content-type": "application/json" };
  yield { method: "POST", path, headers: json, body: JSON.stringify(begun) };
  const id = ids.begun!;
  yield { method: "POST", path: `${path}/${id}/parts`, form: { data: "table.csv" } };
  const body = (part: number) => JSON.stringify({ part_ids: [`part_${id.replace("upload_", "")}_${part}`] });
  yield { method: "POST", path: `${path}/${id}/complete`, headers: json, body: body(1) };
  yield { method: "POST", path: `${path}/${id}/complete`, headers: json, body: body(0) };
  yield { method: "POST", path: `${path}/${id}/cancel` };
  yield { method: "POST", path, headers: json, body: JSON.stringify(begun) };
  yield { method: "POST", path: `${path}/${ids.begun}/cancel` };
}

const user = (content: JsonObject[]) => ({ role: "user", content });
const data = btoa(PDF);

const WIRES: Record<string, Wire> = {
  chat: {
    key: { authorization: `Bearer ${ENV.TEAM_KEY}` },
    *requests(ids) {
      yield* crud(ids, {
        form: { purpose: "user_data", "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600" },
        bad: [
          { method: "POST", path: "/oss/v1/files", form: { purpose: "fun", file: "table.csv" } },
          { method: "POST", path: "/oss/v1/files", form: { purpose: "vision" } },
        ],
        list: ["?limit=2", "?after={page.png}", "?purpose=vision", "?order=sideways"],
      });
      yield* inParts(ids);
    },
    idIn: ({ id }) => id as string | undefined,
    conversation: (ids) => ({
      path: "/oss/v1/chat/completions",
      body: (content) => ({ model: "model", messages: [user(content)] }),
      parts: [
        ...ids.map((file_id) => [{ type: "file", file: { file_id } }]),
        [{ type: "file", file: { file_data: `data:application/pdf;base64,${data}`, filename: "a.pdf" } }],
      ],
    }),
  },
  responses: {
    key: { authorization: `Bearer ${ENV.TEAM_KEY}` },
    *requests() {
      for (const file of Object.keys(FILES)) {
        yield { method: "POST", path: "/oss/v1/files", form: { purpose: "user_data", file } };
      }
    },
    idIn: ({ id }) => id as string | undefined,
    conversation: (ids) => ({
      path: "/oss/v1/responses",
      body: (content) => ({ model: "model", input: [user(content)], store: false }),
      parts: [
        ...ids.map((file_id) => [{ type: "input_file", file_id }]),
        [{ type: "input_image", file_id: ids[1]!, detail: "low" }],
        [{ type: "input_file", file_data: `data:application/pdf;base64,${data}`, filename: "a.pdf", detail: "high" }],
      ],
    }),
  },
  messages: {
    key: { "x-api-key": ENV.TEAM_KEY!, "anthropic-version": "2023-06-01" },
    requests: (ids) =>
      crud(ids, {
        form: { expires_in_seconds: "3600" },
        bad: [
          { method: "POST", path: "/oss/v1/files", form: { expires_in_seconds: "5", file: "table.csv" } },
          { method: "POST", path: "/oss/v1/files", form: { expires_in_seconds: "3600" } },
        ],
        list: ["?limit=2", "?page={page.png}", "?before_id={table.csv}&limit=1", "?ids[]={page.png}", "?limit=0"],
      }),
    idIn: ({ id }) => id as string | undefined,
    conversation: (ids) => ({
      path: "/oss/v1/messages",
      body: (content) => ({ model: "model", max_tokens: 99, messages: [user(content)] }),
      parts: [
        ...ids.map((file_id) => [{ type: "document", source: { type: "file", file_id } }]),
        [{ type: "image", source: { type: "file", file_id: ids[1]! } }],
        [{ type: "document", source: { type: "base64", media_type: "application/pdf", data }, title: "a.pdf" }],
      ],
    }),
  },
  gemini: {
    key: { "x-goog-api-key": ENV.TEAM_KEY! },
    *requests(ids) {
      const path = "/oss/upload/v1beta/files";
      for (const [name, [content, type]] of Object.entries(FILES)) {
        const start = {
          "x-goog-upload-protocol": "resumable",
          "x-goog-upload-command": "start",
          "x-goog-upload-header-content-length": String(content.length),
          "x-goog-upload-header-content-type": type,
        };
        const body = JSON.stringify({ file: { displayName: name } });
        yield { method: "POST", path, headers: { ...start, "content-type": "application/json" }, body };
        const upload = { "x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0" };
        yield { method: "POST", path: `${path}?upload_id=${ids.begun}`, headers: upload, body: content };
      }
      yield { method: "POST", path, headers: { "x-goog-upload-command": "start" }, body: "{}" };
      const kept = "/oss/v1beta/files";
      yield { method: "GET", path: `${kept}?pageSize=2` };
      yield { method: "GET", path: `${kept}?pageToken=${ids["page.png"]!.split("/").at(-1)}` };
      yield { method: "GET", path: `${kept}?pageSize=0` };
      yield { method: "GET", path: `/oss/v1beta/${ids["table.csv"]}` };
      yield { method: "DELETE", path: `/oss/v1beta/${ids["report.pdf"]}` };
      yield { method: "GET", path: `/oss/v1beta/${ids["report.pdf"]}` };
    },
    idIn: ({ file }) => (file as JsonObject | undefined)?.name as string | undefined,
    conversation: (ids) => ({
      path: "/oss/v1beta/models/model:generateContent",
      body: (parts) => ({ contents: [{ role: "user", parts }] }),
      parts: [
        ...ids.map((id) => [{ fileData: { fileUri: `http://gateway/oss/v1beta/${id}`, mimeType: "text/plain" } }]),
        [{ inlineData: { data, mimeType: "application/pdf", displayName: "a.pdf" } }],
      ],
    }),
  },
};

/** Each golden file by its path. */
export async function fileGoldens(): Promise<Map<string, string>> {
  const goldens = new Map<string, string>();
  for (const [name, wire] of Object.entries(WIRES)) goldens.set(`files/${name}.txt`, (await goldenOf(wire)).join("\n"));
  return goldens;
}

async function goldenOf(wire: Wire): Promise<string[]> {
  const sections: string[] = [];
  let made = 0;
  const upstream = fakeUpstream(({ url }) => url.hostname === "fetcher.test" ? Response.json(READ) : answerWhole());
  const model = { ...CONFIG.lanes.oss.models.model, inputModalities: ["text", "image"] };
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
  const app = newApp({
    config: { ...CONFIG, keys, documents: {}, lanes: { oss: { models: { model } } } } as ConfigInput,
    env: { ...ENV, LANEWAY_FETCHER_URL: "http://fetcher.test", LANEWAY_FETCHER_TOKEN: "t".repeat(32) },
    fetch: upstream.fetch,
    now: () => NOW + made,
    newId: () => String(++made).padStart(32, "0"),
  });
  const ids: Record<string, string> = {};
  for (const asking of wire.requests(ids)) {
    const response = await app.fetch(requestOf(asking, wire.key));
    const text = await response.text();
    const body = response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
    learn(ids, asking, wire.idIn(body ?? {}), response.headers);
    sections.push(sectionOf(asking, response, body === undefined ? text : layOut(parseTree(text))));
  }
  const known = Object.keys(FILES).map((name) => ids[name]!);
  const { path, body, parts } = wire.conversation([...known, known[0]!.replace(/\d+$/, "f".repeat(32))]);
  for (const part of parts) {
    const before = upstream.asked.length;
    const init = { method: "POST", headers: { ...wire.key, "content-type": "application/json" } };
    const response = await app.fetch(
      new Request(`http://gateway${path}`, { ...init, body: JSON.stringify(body(part)) }),
    );
    const text = await response.text();
    const call = upstream.asked.slice(before).findLast(({ url }) => url.hostname !== "fetcher.test");
    const sent = call ? layOut(parseTree(JSON.stringify(JSON.parse(call.body).messages))) : layOut(parseTree(text));
    const notes = response.headers.get("x-laneway-notes");
    const heading = `== a conversation with ${JSON.stringify(part[0])} ==\n${response.status}\n`;
    sections.push(`${heading}${sent}\n${notes === null ? "" : `notes: ${notes}\n`}`);
  }
  await app.close();
  return sections.map((section) => section.replaceAll(/req_\w+/g, "req_…"));
}

function requestOf({ method, path, headers, form, body }: Asking, key: Record<string, string>): Request {
  const url = `http://gateway${path}`;
  if (!form) return new Request(url, { method, headers: { ...key, ...headers }, body: body && bytesOf(body) });
  const fields = new FormData();
  for (const [name, value] of Object.entries(form)) {
    const file = name === "file" || name === "data" ? FILES[value] : undefined;
    fields.set(name, file ? new File([bytesOf(file[0])], value, { type: file[1] }) : value);
  }
  return new Request(url, { method, headers: key, body: fields });
}

function learn(ids: Record<string, string>, asking: Asking, id: string | undefined, headers: Headers): void {
  const begun = headers.get("x-goog-upload-url");
  if (id?.startsWith("upload_")) ids.begun = id;
  if (begun) ids.begun = new URL(begun).searchParams.get("upload_id")!;
  if (asking.method !== "POST" || id === undefined) return;
  const name = Object.keys(FILES).find((file) => ids[file] === undefined);
  if (name) ids[name] = id;
}

/** Headers of answers that a client reads. */
const SHOWN = ["x-goog-upload-url", "x-goog-upload-status", "content-disposition"];

function sectionOf({ method, path, headers = {}, form, body }: Asking, response: Response, text: string): string {
  const asked = { ...headers, ...form, ...(body !== undefined && { body }) };
  const shown = SHOWN.flatMap((name) => response.headers.has(name) ? [`${name}: ${response.headers.get(name)}\n`] : []);
  const sent = Object.keys(asked).length === 0 ? "" : `${layOut(parseTree(JSON.stringify(asked)))}\n`;
  return `== ${method} ${path} ==\n${sent}→ ${response.status}\n${shown.join("")}${text}\n`;
}
