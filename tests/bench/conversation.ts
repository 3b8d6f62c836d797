/**
 * What storing costs: a client that goes on from stored answers, beside one that stores nothing and sends the whole
 * conversation with every turn. Both talk to the same server.
 */
import { Connection, postBytes } from "./client.ts";
import { clock } from "./clock.ts";
import { type Figures, quantile } from "./figures.ts";
import { repeat, type Running, type Size } from "./measure.ts";
import { FILE, responsesBody } from "./subjects.ts";

export const WAYS = ["stateless", "stored"] as const;
export type Way = typeof WAYS[number];

/** A conversation that is stored, and goes on from any of its turns. */
export interface Conversation {
  origin: string;
  url: string;
  /** The ids of its answers. */
  ids: string[];
}

export type ConversationMeasure = (way: Way, conversation: Conversation, size: Size) => Promise<Figures>;

const DEPTHS = [1, 20, 200] as const;
const SMALL = { bytes: 1_000 };
/** About 2 kB in. */
const QUESTION = { role: "user", content: `${FILE.repeat(4)}Why? repeat=60` };
/** About 1 kB out, as the upstream says it. */
const REPLY = { role: "assistant", content: [{ type: "output_text", text: "la li lu le lo. ".repeat(60) }] };

/** Holds the conversation, turn by turn. Throws unless the upstream gets the same messages both ways. */
export async function holdConversation({ subject, server }: Running): Promise<Conversation> {
  const conversation: Conversation = { origin: server.origin, url: server.origin + subject.path, ids: [] };
  while (conversation.ids.length < Math.max(...DEPTHS)) {
    const { id } = await tell(turnBody("stored", conversation, conversation.ids.length));
    conversation.ids.push(id);
  }
  for (const depth of DEPTHS) {
    const [stateless, stored] = await Promise.all(WAYS.map((way) => tell(turnBody(way, conversation, depth))));
    const right = 2 * depth + 2;
    if (stateless!.usage.input_tokens !== right || stored!.usage.input_tokens !== right) {
      throw new Error(`Turn after ${depth} others has not ${right} messages: ${JSON.stringify([stateless, stored])}`);
    }
  }
  return conversation;

  async function tell(body: unknown): Promise<{ id: string; usage: { input_tokens: number } }> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(conversation.url, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`Server answered: ${await response.text()}`);
    return await response.json();
  }
}

const answers: ConversationMeasure = async (way, { origin, url }, size) => {
  const request = postBytes(url, { ...responsesBody(SMALL), store: way === "stored" });
  const times = (await repeat(origin, request, size.answers)).map((answer) => answer.totalMs);
  return { answerP50: quantile(times, 0.5), answerP99: quantile(times, 0.99) };
};

const beginnings: ConversationMeasure = async (way, { origin, url }, size) => {
  const request = postBytes(url, { ...responsesBody({ ...SMALL, stream: "chunks=3" }), store: way === "stored" });
  const times = (await repeat(origin, request, size.answers)).map((answer) => answer.firstByteMs);
  return { beginningP50: quantile(times, 0.5), beginningP99: quantile(times, 0.99) };
};

/** The upstream rests before its end, so that the gateway has nothing else to do then. */
const endings: ConversationMeasure = async (way, { origin, url }, size) => {
  const load = { ...SMALL, stream: "chunks=3 pause=5" };
  const request = postBytes(url, { ...responsesBody(load), store: way === "stored" });
  const times: number[] = [];
  const connection = await Connection.open(origin);
  try {
    while (times.length < size.endings) {
      const decoder = new TextDecoder();
      let text = "";
      let end: number | undefined;
      await connection.ask(request, (bytes) => {
        text += decoder.decode(bytes, { stream: true });
        if (text.includes('"response.completed"') || text.includes('"response.incomplete"')) end ??= clock();
      });
      times.push(end! - Number(text.match(/ended=([\d.]+)/)?.[1]));
    }
  } finally {
    connection.close();
  }
  return { endingP50: quantile(times, 0.5), endingP99: quantile(times, 0.99) };
};

const turns: readonly ConversationMeasure[] = DEPTHS.map((depth) => async (way, conversation, size) => {
  const request = postBytes(conversation.url, turnBody(way, conversation, depth));
  const count = depth > 100 ? size.longTurns : size.turns;
  const times = (await repeat(conversation.origin, request, count)).map((answer) => answer.totalMs);
  return { [`turn${depth}P50`]: quantile(times, 0.5), [`turn${depth}P99`]: quantile(times, 0.99) };
});

/** Taken both ways in turn, round after round. */
export const CONVERSATION_MEASURES: readonly ConversationMeasure[] = [answers, beginnings, endings, ...turns];

/** The turn that follows `depth` others. */
function turnBody(way: Way, { ids }: Conversation, depth: number): unknown {
  const before = Array.from({ length: depth }, () => [QUESTION, REPLY]).flat();
  return {
    model: "bench",
    instructions: "You are a careful assistant.",
    ...(way === "stored"
      ? { previous_response_id: ids[depth - 1], input: [QUESTION] }
      : { store: false, input: [...before, QUESTION] }),
  };
}
