/** The vendor's SDK for agents, which runs tools and hands over between agents by itself. */
import { Agent, type AgentInputItem, type AgentOutputType, Runner, tool, user } from "@openai/agents-core";
import { OpenAIProvider } from "@openai/agents-openai";
import { assertEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import type { TestApp } from "../support/app.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { MAJORS, newClient } from "./chat_clients.ts";
import { bodiesOf, newResponsesApp, type Said, scriptedUpstream } from "./responses_clients.ts";

interface Ran {
  output: unknown;
  text: string;
  history: AgentInputItem[];
  lastResponseId?: string;
  lastAgent?: string;
}

type Ask = <Output extends AgentOutputType>(
  agent: Agent<unknown, Output>,
  input: string | AgentInputItem[],
  previousResponseId?: string,
) => Promise<Ran>;

function waysOf(app: TestApp): Record<"whole" | "streamed", Ask> {
  const runner = new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: newClient(MAJORS[0], app), useResponses: true }),
    tracingDisabled: true,
  });
  return {
    async whole(agent, input, previousResponseId) {
      const ran = await runner.run(agent, input, { previousResponseId });
      return ranOf(ran, String(ran.finalOutput));
    },
    async streamed(agent, input, previousResponseId) {
      const result = await runner.run(agent, input, { previousResponseId, stream: true });
      let text = "";
      for await (const piece of result.toTextStream()) text += piece;
      await result.completed;
      return ranOf(result, text);
    },
  };
}

interface Result {
  finalOutput?: unknown;
  history: AgentInputItem[];
  lastResponseId?: string;
  lastAgent?: { name: string };
}

function ranOf({ finalOutput, history, lastResponseId, lastAgent }: Result, text: string): Ran {
  return { output: finalOutput, text, history, lastResponseId, lastAgent: lastAgent?.name };
}

function inBothWays(
  name: string,
  newUpstream: () => FakeUpstream,
  act: (ask: Ask, upstream: FakeUpstream) => Promise<void>,
): void {
  for (const way of ["whole", "streamed"] as const) {
    Deno.test(`agents SDK, ${way}: ${name}`, async () => {
      const upstream = newUpstream();
      await act(waysOf(newResponsesApp({ fetch: upstream.fetch }))[way], upstream);
    });
  }
}

function newAgent(asked: string[] = []): Agent {
  const get_weather = tool({
    name: "get_weather",
    description: "Get the weather",
    parameters: z.object({ city: z.string() }),
    execute({ city }) {
      asked.push(city);
      return `Sunny in ${city}`;
    },
  });
  return new Agent({ name: "Helper", instructions: "Be brief.", model: "model", tools: [get_weather] });
}

function callOf(id: string): Said {
  return { thought: "I need the weather.", calls: [{ id, name: "get_weather", input: '{"city":"Oslo"}' }] };
}

interface Message {
  role: string;
  content: unknown;
  tool_calls?: { id: string }[];
}

function short({ role, content, tool_calls: [call] = [] }: Message): unknown[] {
  return [role, call?.id ?? content];
}

inBothWays(
  "an agent runs its tool and answers",
  () => scriptedUpstream(callOf("call_1"), { text: "Sunny." }),
  async (ask, upstream) => {
    const asked: string[] = [];
    const { output, text } = await ask(newAgent(asked), "Is it a nice day?");
    assertEquals([output, text, asked], ["Sunny.", "Sunny.", ["Oslo"]]);
    const [, { messages }] = bodiesOf(upstream);
    assertEquals(messages.map(short), [
      ["system", "Be brief."],
      ["user", "Is it a nice day?"],
      ["assistant", "call_1"],
      ["tool", "Sunny in Oslo"],
    ]);
    assertEquals(messages[2].reasoning_content, "I need the weather.");
  },
);

const TWICE: Said[] = [callOf("call_1"), { text: "Sunny." }, callOf("call_2"), { text: "Still sunny." }];

inBothWays(
  "a conversation goes on by the id of the answer, and by its whole history",
  () => scriptedUpstream(...TWICE, ...TWICE),
  async (ask, upstream) => {
    const agent = newAgent();
    const first = await ask(agent, "Is it a nice day?");
    assertEquals((await ask(agent, "And now?", first.lastResponseId)).output, "Still sunny.");
    const { history } = await ask(agent, "Is it a nice day?");
    assertEquals((await ask(agent, [...history, user("And now?")])).output, "Still sunny.");

    const bodies = bodiesOf(upstream);
    assertEquals(bodies.slice(TWICE.length), bodies.slice(0, TWICE.length));
    assertEquals(bodies.at(-1).messages.map(short), [
      ["system", "Be brief."],
      ["user", "Is it a nice day?"],
      ["assistant", "call_1"],
      ["tool", "Sunny in Oslo"],
      ["assistant", "Sunny."],
      ["user", "And now?"],
      ["assistant", "call_2"],
      ["tool", "Sunny in Oslo"],
    ]);
  },
);

inBothWays(
  "one agent hands over to another",
  () => scriptedUpstream({ calls: [{ id: "call_h", name: "transfer_to_Poet", input: "{}" }] }, { text: "Roses." }),
  async (ask, upstream) => {
    const poet = new Agent({ name: "Poet", instructions: "Rhyme.", model: "model" });
    const { output, lastAgent } = await ask(
      new Agent({ name: "Desk", instructions: "Send them on.", model: "model", handoffs: [poet] }),
      "A poem, please",
    );
    assertEquals([output, lastAgent], ["Roses.", "Poet"]);
    const [{ tools }, { messages }] = bodiesOf(upstream);
    assertEquals(tools[0].function.name, "transfer_to_Poet");
    assertEquals(messages.map(({ role }: Message) => role), ["system", "user", "assistant", "tool"]);
    assertEquals(messages[0].content, "Rhyme.");
  },
);

inBothWays("structured output", () => scriptedUpstream({ text: '{"name":"Ada","age":36}' }), async (ask, upstream) => {
  const agent = new Agent({
    name: "Clerk",
    model: "model",
    outputType: z.object({ name: z.string(), age: z.number() }),
  });
  assertEquals((await ask(agent, "Who?")).output, { name: "Ada", age: 36 });
  assertEquals(bodiesOf(upstream)[0].response_format.type, "json_schema");
});

inBothWays(
  "an answer that is cut off is no answer",
  () => scriptedUpstream({ text: "Sun", finish: "length" }),
  async (ask) => {
    await assertRejects(() => ask(newAgent(), "Is it a nice day?"), Error, "response.incomplete");
  },
);

inBothWays("a model that is not there", () => fakeUpstream(), async (ask) => {
  const agent = new Agent({ name: "Helper", model: "nothing" });
  await assertRejects(() => ask(agent, "Hello"), MAJORS[0].Sdk.NotFoundError, "nothing");
});
