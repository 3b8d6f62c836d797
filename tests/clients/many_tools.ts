/** A server of 300 tools for clients that start it (MCP over standard input and output). Run as a program of its own. */
export const TOOLS = Array.from({ length: 300 }, (_, at) => ({
  name: `task_${at}`,
  description: `Does task ${at}. ${"It tells at length what it is good for, as such descriptions do. ".repeat(5)}`,
  inputSchema: {
    type: "object",
    properties: { city: { type: "string", description: "The city in which the task is done" } },
    required: ["city"],
  },
}));

interface Message {
  id?: number | string;
  method: string;
  params?: { protocolVersion?: string; name?: string; arguments?: { city?: string } };
}

function answerTo({ method, params = {} }: Message): object {
  switch (method) {
    case "initialize": {
      const serverInfo = { name: "many", version: "1.0.0" };
      return { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } };
    }
    case "tools/list":
      return { result: { tools: TOOLS } };
    case "tools/call":
      return { result: { content: [{ type: "text", text: `${params.name} is done in ${params.arguments?.city}` }] } };
    case "ping":
      return { result: {} };
    default:
      return { error: { code: -32601, message: `Unknown method ${method}` } };
  }
}

if (import.meta.main) {
  const writer = Deno.stdout.writable.getWriter();
  const encoder = new TextEncoder();
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const message: Message = JSON.parse(line);
      if (message.id === undefined) continue;
      const answer = { jsonrpc: "2.0", id: message.id, ...answerTo(message) };
      await writer.write(encoder.encode(`${JSON.stringify(answer)}\n`));
    }
  }
}
