/** How much memory files take on their way to transcription, all at once. */
import { Connection, postFormBytes } from "./client.ts";
import { UPLOADS } from "./fake_tasks.ts";
import type { Figures } from "./figures.ts";
import { peakKb, residentKb, type Server } from "./server.ts";
import { startLaneway, startPassthrough } from "./subjects.ts";

/** A way that a file goes, from the client's form to what the upstream takes. */
export interface UploadWay {
  name: string;
  path: string;
  model: string;
  start(upstream: string): Promise<Server>;
}

export const UPLOAD_WAYS: readonly UploadWay[] = [
  { name: "passthrough", path: "/v1/audio/transcriptions", model: "transcription", start: startPassthrough },
  { name: "form to form", path: "/oss/v1/audio/transcriptions", model: "transcription", start: startLaneway },
  {
    name: "form to base64 in JSON",
    path: "/oss/v1/audio/transcriptions",
    model: "fal-transcription",
    start: startLaneway,
  },
];

const FILE_BYTES = 25_000_000;
const ALL_BYTES = UPLOADS * FILE_BYTES;
/** The garbage of one time is still there in the next, so the greatest memory comes late. */
const TIMES = 5;
const SETTLE_MS = 500;

/** Taken of a process that has just started. Throws unless every byte came to the upstream. */
export async function measureUploads({ path, model, start }: UploadWay, upstream: string): Promise<Figures> {
  const server = await start(upstream);
  const connections = await Promise.all(Array.from({ length: UPLOADS }, () => Connection.open(server.origin)));
  try {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const idle = residentKb(server.pid);
    const request = await postFormBytes(server.origin + path, uploadForm(model));
    for (let time = 0; time < TIMES; time++) {
      await Promise.all(connections.map((connection) => upload(connection, request)));
    }
    const peak = peakKb(server.pid);
    const bytes = idle && peak && (peak - idle) * 1_024;
    return { uploadMemory: bytes && bytes / 1e6, uploadMultiple: bytes && bytes / ALL_BYTES };
  } finally {
    for (const connection of connections) connection.close();
    await server.stop();
  }
}

async function upload(connection: Connection, request: Uint8Array): Promise<void> {
  let answer = "";
  const decoder = new TextDecoder();
  await connection.ask(request, (bytes) => void (answer += decoder.decode(bytes)));
  const arrived = Number(answer.match(/bytes=(\d+)/)?.[1]);
  if (!(arrived >= FILE_BYTES)) throw new Error(`Upload did not arrive whole: ${answer.slice(0, 300)}`);
}

function uploadForm(model: string): FormData {
  const file = Uint8Array.from({ length: FILE_BYTES }, (_, at) => at * at >> 3);
  file.set(new TextEncoder().encode("RIFF____WAVE"));
  const form = new FormData();
  form.append("file", new Blob([file], { type: "audio/wav" }), "speech.wav");
  form.append("model", model);
  return form;
}
