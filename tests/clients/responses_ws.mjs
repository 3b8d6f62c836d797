// A program for Node: what OpenAI's own SDK makes of a WebSocket. Prints a line of JSON for each response or error.
import process from "node:process";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";

const [, , baseURL, apiKey] = process.argv;
const create = { type: "response.create", model: "scripted", store: false };
const tool = { type: "function", name: "look_up", parameters: { type: "object" }, strict: false };

function open(key = apiKey) {
  const socket = new ResponsesWS(new OpenAI({ baseURL, apiKey: key }));
  const events = socket.stream();
  return {
    /** Sends a request, and returns its response, or the error, once that is there. */
    async turn(message) {
      if (message) socket.send(message);
      const seen = [];
      for (;;) {
        const { done, value } = await events.next();
        if (done) throw new Error("The connection is closed");
        if (value.type === "error") {
          return { error: value.error.error?.error ?? { message: value.error.message }, seen };
        }
        if (value.type !== "message") continue;
        seen.push(value.message.type);
        if (value.message.type === "response.completed") return { response: value.message.response, seen };
      }
    },
    close: () => socket.close(),
  };
}

const print = (name, value) => process.stdout.write(`${JSON.stringify({ name, ...value })}\n`);

// A warm-up, and a loop of five turns, each with what is new alone.
const socket = open();
const instructions = [{ role: "developer", content: "Be brief" }];
const warm = await socket.turn({ ...create, generate: false, input: instructions, tools: [tool] });
print("warm-up", { output: warm.response.output, seen: warm.seen });
let previous_response_id = warm.response.id;
let input = [{ role: "user", content: "Hello" }];
for (let turn = 1; turn <= 5; turn++) {
  const { response } = await socket.turn({ ...create, previous_response_id, input, tools: [tool] });
  print("turn", { status: response.status, text: response.output.map(({ type }) => type), turn });
  previous_response_id = response.id;
  input = response.output.filter(({ type }) => type === "function_call")
    .map(({ call_id }) => ({ type: "function_call_output", call_id, output: `found ${turn}` }));
}

// Errors, after which the connection goes on.
const wrong = { ...create, previous_response_id: "resp_none", input: "?" };
for (const message of [wrong, { ...create, model: "none", input: "?" }, { ...create, input: 5 }]) {
  print("error", { error: (await socket.turn(message)).error });
}
const { response } = await socket.turn({ ...create, model: "sandbox", input: "Hello" });
print("after", { status: response.status });
socket.close();

const stranger = open("wrong");
print("stranger", { error: (await stranger.turn(undefined)).error });
stranger.close();
