/** How much memory files take on their way to transcription, all at once. */
import { Connection, postFormBytes } from "./client.ts";
import { UPLOADS } from "./fake_tasks.ts";
import { BARE, type Gateway, laneway, startGateway } from "./gateways.ts";
import { treePeakKb, treeResidentKb } from "./process_tree.ts";
import type { Figure, Values } from "./table.ts";

/** A way that a file goes, from the client's form to what the upstream takes. */
export interface UploadWay {
  name: string;
  path: string;
  model: string;
  gateway: Gateway;
}

export const UPLOAD_FIGURES: Record<string, Figure> = {
  uploadMemory: {
    label: `${UPLOADS} files of 25 MB to transcription at once: greatest memory above idle`,
    unit: "MB",
    digits: 0,
  },
  uploadMultiple: { label: "the same ÷ the files", unit: "×", digits: 1 },
};

export const UPLOAD_WAYS: readonly UploadWay[] = [
  { name: "bare", path: "/v1/audio/transcriptions", model: "transcription", gateway: BARE },
  { name: "form to form", path: "/oss/v1/audio/transcriptions", model: "transcription", gateway: laneway() },
  {
    name: "form to base64 in JSON",
    path: "/oss/v1/audio/transcriptions",
    model: "fal-transcription",
    gateway: laneway(),
  },
];

const FILE_BYTES = 25_000_000;
const ALL_BYTES = UPLOADS * FILE_BYTES;
/** The garbage of one time is still there in the next, so the greatest memory comes late. */
const TIMES = 5;
const SETTLE_MS = 500;

/** Taken of a process that has just started. Throws unless every byte came to the upstream. */
export async function measureUploads({ path, model, gateway }: UploadWay, upstream: string): Promise<Values> {
  const server = await startGateway(gateway, upstream);
  const connections = await Promise.all(Array.from({ length: UPLOADS }, () => Connection.open(server.origin)));
  try {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const idle = treeResidentKb(server.pid);
    const request = await postFormBytes(server.origin + path, uploadForm(model));
    for (let time = 0; time < TIMES; time++) {
      await Promise.all(connections.map((connection) => upload(connection, request)));
    }
    const peak = treePeakKb(server.pid);
    const bytes = (peak - idle) * 1_024;
    return { uploadMemory: bytes / 1e6, uploadMultiple: bytes / ALL_BYTES };
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
