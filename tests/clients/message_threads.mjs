// A program for Node: what the newest SDK's helper for threads makes of a gateway. Prints a line of JSON for each step.
import process from "node:process";

// The package is in the folder of this program's copy alone.
const [, , baseURL, apiKey, sdk] = process.argv;
const { default: Anthropic } = await import(sdk);
const { VERSION } = await import(`${sdk}/version`);
const sent = [];
const client = new Anthropic({
  apiKey,
  baseURL,
  maxRetries: 0,
  async fetch(input, init) {
    const response = await fetch(input, init);
    const { thread, messages, system } = JSON.parse(init.body);
    sent.push({
      status: response.status,
      thread: thread?.type,
      messages: messages.length,
      system: system !== undefined,
    });
    return response;
  },
});
const user = (content) => ({ role: "user", content });
const textOf = ({ content }) => content.map(({ text = "" }) => text).join("");
const print = (step, value) => process.stdout.write(`${JSON.stringify({ step, value, sent: sent.splice(0) })}\n`);

print("version", VERSION);
const thread = client.beta.messages.thread({ model: "sandbox", max_tokens: 200, system: "Be brief." });
const ids = [];
for (const text of ["one", "two", "three"]) {
  const message = text === "two" ? await thread.stream(user(text)).finalMessage() : await thread.send(user(text));
  ids.push(message.id);
  print(text, textOf(message) !== "");
}

// Two programs that go on with one thread: one is too late, and begins anew with all turns.
const fork = client.beta.messages.thread({ ...thread.params });
await fork.send(user("four"));
print("fork", new Set(ids).size);

const errors = [];
for (const previous_message_id of [ids[0], "msg_nobody"]) {
  try {
    await client.beta.messages.create({
      model: "sandbox",
      max_tokens: 5,
      messages: [user("again")],
      thread: { type: "continue", previous_message_id },
      betas: ["message-threads-2026-08-12"],
    });
  } catch (error) {
    errors.push([error.constructor.name, error.status, error.errorCode]);
  }
}
print("errors", errors);

// A client that leaves in the middle.
const aborted = thread.stream(user("five"));
aborted.on("text", () => aborted.abort());
await aborted.done().catch(() => {});
const after = await thread.send(user("six"));
print("aborted", textOf(after) !== "");
