/**
 * Fixed work, which the gateway's own is given as a multiple of. No code of the gateway is in it, so it costs the same whatever
 * changes there. How much faster one processor is than another depends on the work: a loop over many bytes gains more than much
 * code that runs once for each request. So there is one of each kind.
 */
import { z } from "zod";

/** Little code that runs often: the least that a gateway does which looks into what it passes on. */
export async function passJson(request: Request, answer: Response): Promise<Response> {
  JSON.stringify(await request.json());
  const { headers } = answer;
  if (headers.get("content-type") === "application/json") {
    return new Response(JSON.stringify(await answer.json()), { headers });
  }
  const reader = answer.body!.getReader();
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      let text = "";
      for (const frame of decoder.decode(value, { stream: true }).split("\n")) {
        const data = frame.startsWith("data: {") ? `data: ${JSON.stringify(JSON.parse(frame.slice(6)))}` : frame;
        text += `${data}\n`;
      }
      controller.enqueue(encoder.encode(text));
    },
  });
  return new Response(body, { headers });
}

const TEXT = z.looseObject({ type: z.enum(["text", "input_text", "output_text"]), text: z.string() });
const OTHER = z.looseObject({ type: z.string() });
const CONTENT = z.union([z.string(), z.array(z.union([TEXT, OTHER])), z.null()]);
const CALL = z.looseObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
});
const TURN = z.looseObject({
  role: z.string().optional(),
  content: CONTENT.optional(),
  tool_calls: z.array(CALL).optional(),
});
const TOOL = z.looseObject({
  type: z.string().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
});
const ASKED = z.looseObject({
  model: z.string().min(1),
  messages: z.array(TURN).optional(),
  input: z.union([z.string(), z.array(TURN)]).optional(),
  system: CONTENT.optional(),
  tools: z.array(TOOL).optional(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  max_tokens: z.number().int().positive().nullish(),
});
const ANSWERED = z.looseObject({
  id: z.string(),
  model: z.string().optional(),
  choices: z.array(z.looseObject({ index: z.number().int(), message: TURN })).optional(),
  output: z.array(TURN).optional(),
  usage: z.looseObject({}).optional(),
});

const running = new Map<string, { path: string; since: number }>();
const LAYERS = 12;

/** Much code that runs once: what a server does around a small request, by the platform's own means. */
export async function passWide(request: Request, answer: Response): Promise<Response> {
  const id = crypto.randomUUID();
  const since = performance.now();
  const url = new URL(request.url);
  const [, lane = "", rest = ""] = /^\/([\w-]+)\/v1\/(.+)$/.exec(url.pathname) ?? [];
  const ended = new AbortController();
  const leave = () => ended.abort(request.signal.reason);
  request.signal.addEventListener("abort", leave, { once: true });
  const timer = setTimeout(leave, 60_000);
  running.set(id, { path: rest, since });
  try {
    const names = [...request.headers.keys()].filter((name) => /^(accept|content|x)-/i.test(name));
    const asked = ASKED.parse(JSON.parse(new TextDecoder().decode(await request.bytes())));
    const sent = new Request("http://upstream.test/v1/answers", {
      method: "POST",
      headers: {
        ...Object.fromEntries(names.map((name) => [name, name])),
        accept: "application/json",
        "x-request-id": id,
      },
      body: new Blob([JSON.stringify({ ...asked, model: `${lane}/${asked.model}` })], { type: "application/json" }),
      signal: ended.signal,
    });
    const text = await throughLayers(LAYERS, ended.signal, async () => {
      const { length } = await sent.text();
      return `${length}:${await answer.text()}`;
    });
    const answered = ANSWERED.parse(JSON.parse(text.slice(text.indexOf(":") + 1)));
    const { usage, ...others } = answered;
    const headers = new Headers(answer.headers);
    headers.set("x-request-id", id);
    headers.set("server-timing", `total;dur=${(performance.now() - since).toFixed(1)}`);
    headers.delete("content-length");
    const line = {
      time: new Date().toISOString(),
      id,
      lane,
      path: url.pathname,
      names: names.toSorted().join(),
      usage,
    };
    headers.set("x-line", String(JSON.stringify(line).length));
    return new Response(JSON.stringify({ ...others, usage }), { headers });
  } finally {
    clearTimeout(timer);
    request.signal.removeEventListener("abort", leave);
    running.delete(id);
  }
}

/** What `work` gives, as many asynchronous functions pass it on. */
async function throughLayers(layers: number, signal: AbortSignal, work: () => Promise<string>): Promise<string> {
  signal.throwIfAborted();
  try {
    return await (layers === 0 ? work() : throughLayers(layers - 1, signal, work));
  } catch (cause) {
    throw new Error("Cannot pass on the answer", { cause });
  }
}
