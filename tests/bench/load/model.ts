/** A model server that counts: its answer says how many messages it was sent, and it knows how many callers it had at once. */

/** What every answer is said to have cost. */
export const TOKENS = { prompt_tokens: 11, completion_tokens: 7 };
const CHUNKS = 5;

export interface Model {
  baseUrl: string;
  mostAtOnce(): number;
  stop(): Promise<void>;
}

interface Asked {
  model: string;
  messages: unknown[];
  stream?: boolean;
}

/** The model `slow` takes a second and a half, `few` a third of one, every other one some milliseconds. */
export function startModel(): Model {
  let atOnce = 0;
  let most = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { model, messages, stream }: Asked = await request.json();
    const isCounted = model === "few";
    const ms = { slow: 1_500, few: 300 }[model] ?? 10;
    const pieces = piecesOf(messages.length, ms, Boolean(stream), (step) => {
      if (isCounted) most = Math.max(most, atOnce += step);
    });
    const body = ReadableStream.from(pieces).pipeThrough(new TextEncoderStream());
    return new Response(body, { headers: { "content-type": stream ? "text/event-stream" : "application/json" } });
  });
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1`,
    mostAtOnce: () => most,
    stop: () => server.shutdown(),
  };
}

async function* piecesOf(messages: number, ms: number, isStream: boolean, count: (step: 1 | -1) => void) {
  let isCounted = true;
  const over = () => {
    if (isCounted) count(-1);
    isCounted = false;
  };
  count(1);
  try {
    const usage = { ...TOKENS, total_tokens: TOKENS.prompt_tokens + TOKENS.completion_tokens };
    const content = `messages=${messages}`;
    if (!isStream) {
      await delay(ms);
      const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
      yield JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "m", choices, usage });
      return;
    }
    const event = (more: object) =>
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", ...more })}\n\n`;
    for (let at = 0; at < CHUNKS; at++) {
      yield event({ choices: [{ index: 0, delta: { content: at === 0 ? content : " and on" } }] });
      await delay(ms / CHUNKS);
    }
    yield event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    // Whoever reads the end may begin anew, before this stream is asked for more.
    over();
    yield `${event({ choices: [], usage })}data: [DONE]\n\n`;
  } finally {
    over();
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
