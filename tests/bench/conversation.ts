/**
 * What storing costs: a client that goes on from stored answers, beside one that stores nothing and sends the whole
 * conversation with every turn. Both talk to the same server, which stores in a local file.
 */
import { FILE } from "./bodies.ts";
import { postBytes } from "./client.ts";
import { Connection } from "./client.ts";
import type { Subject } from "./gateways.ts";
import { treeCpuUs } from "./process_tree.ts";
import { type Figure, quantile, type Values } from "./table.ts";

export const WAYS = ["stateless", "stored"] as const;
export type Way = typeof WAYS[number];

const DEPTHS = [1, 20, 200] as const;

export const CONVERSATION_FIGURES: Record<string, Figure> = Object.fromEntries(DEPTHS.flatMap((depth) => [
  [`turn${depth}P50`, { label: `turn after ${depth}: p50`, unit: "ms", digits: 2, beside: "times" }],
  [`turn${depth}Cpu`, { label: `turn after ${depth}: CPU`, unit: "ms", digits: 2, beside: "times" }],
]));

/** A conversation that is stored, and goes on from any of its turns. */
export interface Conversation {
  subject: Subject;
  url: string;
  /** The ids of its answers. */
  ids: string[];
}

/** About 2 kB in. */
const QUESTION = { role: "user", content: `${FILE.repeat(4)}Why? repeat=60` };
/** About 1 kB out, as the upstream says it. */
const REPLY = { role: "assistant", content: [{ type: "output_text", text: "la li lu le lo. ".repeat(60) }] };

/** Holds the conversation, turn by turn. Throws unless the upstream gets the same messages both ways. */
export async function holdConversation(subject: Subject): Promise<Conversation> {
  const url = subject.server.origin + subject.gateway.wires.responses!.path;
  const conversation: Conversation = { subject, url, ids: [] };
  while (conversation.ids.length < Math.max(...DEPTHS)) {
    const { id } = await ask(turnBody("stored", conversation, conversation.ids.length));
    conversation.ids.push(id);
  }
  for (const depth of DEPTHS) {
    const [stateless, stored] = await Promise.all(WAYS.map((way) => ask(turnBody(way, conversation, depth))));
    const right = 2 * depth + 2;
    if (stateless!.usage.input_tokens !== right || stored!.usage.input_tokens !== right) {
      throw new Error(`Turn after ${depth} others has not ${right} messages: ${JSON.stringify([stateless, stored])}`);
    }
  }
  return conversation;

  async function ask(body: unknown): Promise<{ id: string; usage: { input_tokens: number } }> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`Server answered: ${await response.text()}`);
    return await response.json();
  }
}

/** So many turns after each number of others. */
export async function measureTurns(way: Way, conversation: Conversation, turns: number): Promise<Values> {
  const { server } = conversation.subject;
  const values: Values = {};
  for (const depth of DEPTHS) {
    const request = postBytes(conversation.url, turnBody(way, conversation, depth));
    const connection = await Connection.open(server.origin);
    try {
      const times: number[] = [];
      const before = treeCpuUs(server.pid);
      while (times.length < turns) times.push((await connection.ask(request)).totalMs);
      values[`turn${depth}Cpu`] = (treeCpuUs(server.pid) - before) / turns / 1_000;
      values[`turn${depth}P50`] = quantile(times, 0.5);
    } finally {
      connection.close();
    }
  }
  return values;
}

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
