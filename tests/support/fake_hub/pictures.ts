/** Pictures that say by which prompt they were drawn, and the providers that draw them, behind the router. */
import { crc32, deflateSync } from "node:zlib";
import { HOSTS, type HubAsked, jsonOf } from "./asked.ts";
import type { Jobs } from "./jobs.ts";

/** A PNG file of one colour, with the prompt in a chunk of text. */
export function png(prompt: string, width = 64, height = 64): Uint8Array<ArrayBuffer> {
  const chunk = (name: string, data: Uint8Array) => {
    const named = new Uint8Array([...new TextEncoder().encode(name), ...data]);
    const bytes = new Uint8Array(8 + named.length);
    new DataView(bytes.buffer).setUint32(0, data.length);
    bytes.set(named, 4);
    new DataView(bytes.buffer).setUint32(4 + named.length, crc32(named));
    return bytes;
  };
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  const rows = new Uint8Array((width + 1) * height);
  return new Uint8Array([
    ...[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    ...chunk("IHDR", new Uint8Array(header.buffer)),
    ...chunk("tEXt", new TextEncoder().encode(`Comment\0${prompt}`)),
    ...chunk("IDAT", deflateSync(rows)),
    ...chunk("IEND", new Uint8Array()),
  ]);
}

/** The prompt by which a picture was drawn. */
export function promptOf(picture: Uint8Array | string): string {
  const bytes = typeof picture === "string" ? Uint8Array.fromBase64(picture) : picture;
  return /Comment\0(.*?)(?:....IDAT)/s.exec(new TextDecoder("latin1").decode(bytes))?.[1]?.slice(0, -4) ?? "";
}

/** A data URL's, or base64's, prompt. Throws if it holds no picture. */
function given(value: unknown): string {
  const base64 = String(value).replace(/^data:image\/png;base64,/, "");
  return promptOf(base64);
}

const PNG = { headers: { "content-type": "image/png" } };

/** The hub's own engine: a text, or a picture as base64 with its prompt among the parameters. */
export function drawAtEngine(task: string, asked: HubAsked): Response {
  const { inputs, parameters = {} } = jsonOf(asked) as { inputs: unknown; parameters?: Record<string, unknown> };
  if (typeof inputs !== "string" || inputs === "") {
    return Response.json({ error: "`inputs` is empty" }, { status: 400 });
  }
  const { width = 64, height = 64, prompt, seed } = parameters as Record<string, number | undefined>;
  const subject = task === "image-to-image" ? `${prompt} of ${given(inputs)}` : inputs;
  return new Response(png(seed === undefined ? subject : `${subject} #${seed}`, width, height), PNG);
}

/** Keeps a picture on a media host and gives its URL. */
function keep(jobs: Jobs, host: string, picture: Uint8Array<ArrayBuffer>): string {
  const url = `https://${host}/files/${jobs.files.size + 1}/picture.png`;
  jobs.files.set(url, picture);
  return url;
}

/** fal's queue: a job, its state, and its result. */
export function drawAtFal({ method, url, ...asked }: HubAsked, jobs: Jobs): Response | undefined {
  if (url.searchParams.get("_subdomain") !== "queue") return undefined;
  const path = url.pathname.slice("/fal-ai/".length);
  if (method === "POST") {
    const { prompt, image_urls, image_size, seed } = jsonOf({ method, url, ...asked });
    const { width, height } = (image_size ?? {}) as { width?: number; height?: number };
    const subject = [String(prompt), ...((image_urls ?? []) as unknown[]).map(given)].join(" of ");
    const id = `request-${jobs.predictions.size + 1}`;
    const file = keep(jobs, HOSTS.fal, png(seed === undefined ? subject : `${subject} #${seed}`, width, height));
    jobs.predictions.set(id, { polls: 0, result: { images: [{ url: file, content_type: "image/png" }], seed: 7 } });
    return Response.json(falState(id, "IN_QUEUE", path));
  }
  const [, app = "", id = "", state] = /^(.+)\/requests\/([\w-]+)(\/status|\/cancel)?$/.exec(path) ?? [];
  const job = jobs.predictions.get(id);
  if (!job) return Response.json({ detail: "Not Found" }, { status: 404 });
  if (state === "/cancel") return Response.json({ status: "CANCELLATION_REQUESTED" }, { status: 202 });
  if (state) return Response.json(falState(id, job.polls++ === 0 ? "IN_PROGRESS" : "COMPLETED", app));
  return Response.json(job.result);
}

function falState(id: string, status: string, app: string) {
  const address = `https://queue.fal.run/${app}/requests/${id}`;
  return {
    status,
    request_id: id,
    response_url: address,
    status_url: `${address}/status`,
    cancel_url: `${address}/cancel`,
  };
}

/** The input of a prediction as the result of its work. `undefined` if it asks for no picture. */
export function drawAtReplicate(input: Record<string, unknown>, jobs: Jobs): Record<string, unknown> | undefined {
  const { prompt, input_images, width, height, seed } = input;
  if (typeof prompt !== "string") return undefined;
  const subject = [prompt, ...((input_images ?? []) as unknown[]).map(given)].join(" of ");
  const drawn = png(seed === undefined ? subject : `${subject} #${seed}`, width as number, height as number);
  return { status: "succeeded", output: [keep(jobs, HOSTS.replicate, drawn)] };
}

/** The providers with routes of their own for pictures: together, nscale, wavespeed and zai-org. */
export function drawAtOthers(
  provider: string,
  asked: HubAsked,
  jobs: Jobs,
  runs: (provider: string, model: string) => boolean,
): Response | undefined {
  const { method, url } = asked;
  const path = url.pathname.slice(`/${provider}/`.length);
  const body = jsonOf(asked);
  const missing = () => Response.json({ error: { message: "Not Found" } }, { status: 404 });
  switch (`${provider} ${path}`) {
    case "together v1/images/generations":
      return runs(provider, String(body.model)) ? drawAtTogether(body) : missing();
    case "nscale v1/images/generations":
      return runs(provider, String(body.model)) ? drawAtNscale(body) : missing();
    case "zai-org api/paas/v4/async/images/generations": {
      if (!runs(provider, String(body.model))) return missing();
      const id = `task-${jobs.predictions.size + 1}`;
      const file = keep(jobs, HOSTS.zai, png(String(body.prompt), ...sides(body.size, "x")));
      jobs.predictions.set(id, { polls: 0, result: { task_status: "SUCCESS", image_result: [{ url: file }] } });
      return Response.json({ id, model: body.model, request_id: id, task_status: "PROCESSING" });
    }
  }
  if (provider === "zai-org") {
    const job = jobs.predictions.get(/^api\/paas\/v4\/async-result\/([\w-]+)$/.exec(path)?.[1] ?? "");
    return job ? Response.json(job.result) : missing();
  }
  return provider === "wavespeed" ? drawAtWavespeed(method, path, body, jobs, runs) ?? missing() : undefined;
}

function sides(size: unknown, by: string): [width?: number, height?: number] {
  return typeof size === "string" ? size.split(by).map(Number) as [number, number] : [];
}

function drawAtTogether(
  { prompt, n = 1, width, height, image_url, reference_images, response_format }: Record<string, unknown>,
) {
  if (typeof prompt !== "string") return Response.json({ error: { message: "prompt is required" } }, { status: 400 });
  if (response_format !== "base64") return Response.json({ error: { message: "Unknown format" } }, { status: 400 });
  const subject = [prompt, ...[image_url ?? reference_images ?? []].flat().map(given)].join(" of ");
  const picture = png(subject, width as number, height as number).toBase64();
  const data = Array.from({ length: Number(n) }, (_, index) => ({ index, b64_json: picture, type: "b64_json" }));
  return Response.json({ id: "drawn", model: "its own", object: "list", data });
}

function drawAtNscale({ prompt, size, response_format, num_inference_steps }: Record<string, unknown>) {
  if (response_format !== "b64_json" || num_inference_steps !== undefined) {
    return Response.json({ error: { message: "Unprocessable" } }, { status: 422 });
  }
  return Response.json({ created: 1, data: [{ b64_json: png(String(prompt), ...sides(size, "x")).toBase64() }] });
}

function drawAtWavespeed(
  method: string,
  path: string,
  { prompt, image, size }: Record<string, unknown>,
  jobs: Jobs,
  runs: (provider: string, model: string) => boolean,
): Response | undefined {
  const describe = (id: string, more: object) =>
    Response.json({
      code: 200,
      message: "success",
      data: { id, urls: { get: `https://api.wavespeed.ai/api/v3/predictions/${id}/result` }, outputs: [], ...more },
    });
  if (method === "GET") {
    const [, id = ""] = /^api\/v3\/predictions\/([\w-]+)\/result$/.exec(path) ?? [];
    const job = jobs.predictions.get(id);
    return job && describe(id, job.polls++ === 0 ? { status: "processing" } : job.result);
  }
  if (!runs("wavespeed", path.slice("api/v3/".length))) return undefined;
  const id = `job-${jobs.predictions.size + 1}`;
  const subject = image === undefined ? String(prompt) : `${prompt} of ${given(image)}`;
  const file = keep(jobs, HOSTS.wavespeed, png(subject, ...sides(size, "*")));
  jobs.predictions.set(id, { polls: 0, result: { status: "completed", outputs: [file] } });
  return describe(id, { status: "created" });
}
