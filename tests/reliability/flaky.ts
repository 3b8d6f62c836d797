/** Upstreams that fail in all the ways that real ones do, as a seed has it. */
import fc from "fast-check";
import { type Asked, chunk, jsonAnswer, LAST_CHUNK, STREAM_HEAD, TcpUpstream } from "../sockets/tcp.ts";

/** How an upstream answers one request. */
export type Fate =
  | "well"
  | "reset"
  | "500"
  | "502 page"
  | "503"
  | "429"
  | "error in 200"
  | "error in stream"
  | "no JSON"
  | "hang"
  | "cut";

const ERRORS: readonly Fate[] = [
  "reset",
  "500",
  "502 page",
  "503",
  "429",
  "error in 200",
  "error in stream",
  "no JSON",
];

/** Fates in which the upstream has certainly not begun the work. */
export const NOT_PROCESSED: ReadonlySet<Fate> = new Set<Fate>(["503", "429"]);

/** Of ten requests three fail in one of eight ways, one hangs; of twenty one is cut. */
export const fates: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 55, arbitrary: fc.constant<Fate>("well") },
  { weight: 30, arbitrary: fc.constantFrom(...ERRORS) },
  { weight: 10, arbitrary: fc.constant<Fate>("hang") },
  { weight: 5, arbitrary: fc.constant<Fate>("cut") },
);

/** What became of one request at one upstream. */
export interface Meeting {
  /** The text that the client sent, by which requests are told apart. */
  request: string;
  fate: Fate;
}

export interface FlakyUpstream {
  baseUrl: string;
  met: Meeting[];
  stop(): Promise<void>;
}

/** `next`: the fate of each request that comes. */
export function startFlaky(next: () => Fate): FlakyUpstream {
  const upstream = new TcpUpstream();
  const met: Meeting[] = [];
  let stopped = false;
  const served = (async () => {
    while (!stopped) {
      const asked = await upstream.next();
      const body = JSON.parse(asked.body);
      const fate = next();
      met.push({ request: body.messages.at(-1).content, fate });
      answer(asked, fate, body).catch(() => {}); // The gateway has left.
    }
  })();
  return {
    baseUrl: upstream.baseUrl,
    met,
    async stop() {
      stopped = true;
      await upstream.stop();
      void served;
    },
  };
}

const PAGE = "<html><body><h1>502 Bad Gateway</h1>nginx</body></html>";
const event = (value: unknown) => chunk(`data: ${JSON.stringify(value)}\n\n`);
const delta = (content: string, finish_reason: string | null = null) =>
  event({ id: "1", model: "m", choices: [{ index: 0, delta: { content }, finish_reason }] });
const REFUSAL = { error: { message: "Out of luck", type: "server_error" } };

async function answer(
  asked: Asked,
  fate: Fate,
  { messages, stream }: { messages: { content: string }[]; stream?: boolean },
) {
  const said = `You said ${messages.at(-1)!.content}`;
  switch (fate) {
    case "reset":
      return asked.cut();
    case "500":
      return await asked.write(jsonAnswer(REFUSAL, "500 Internal Server Error"));
    case "502 page":
      return await asked.write(
        `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: ${PAGE.length}\r\n\r\n${PAGE}`,
      );
    case "503":
      return await asked.write(jsonAnswer(REFUSAL, "503 Service Unavailable"));
    case "429":
      return await asked.write(jsonAnswer(REFUSAL, "429 Too Many Requests"));
    case "error in 200":
      return await asked.write(jsonAnswer(REFUSAL));
    case "error in stream":
      if (!stream) return await asked.write(jsonAnswer(REFUSAL));
      return await asked.write(STREAM_HEAD + event(REFUSAL) + LAST_CHUNK);
    case "no JSON":
      return await asked.write(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"choices',
      );
    case "hang":
      return; // Until the gateway has enough.
    case "cut":
      if (stream) await asked.write(STREAM_HEAD + delta(said.slice(0, 5)));
      else await asked.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{");
      return asked.cut();
    case "well":
      if (!stream) {
        const message = { role: "assistant", content: said };
        const choices = [{ index: 0, message, finish_reason: "stop" }];
        return await asked.write(
          jsonAnswer({ id: "1", model: "m", choices, usage: { prompt_tokens: 5, completion_tokens: 5 } }),
        );
      }
      return await asked.write(
        STREAM_HEAD + delta(said.slice(0, 5)) + delta(said.slice(5)) + delta("", "stop") + chunk("data: [DONE]\n\n") +
          LAST_CHUNK,
      );
    default:
      fate satisfies never;
  }
}
