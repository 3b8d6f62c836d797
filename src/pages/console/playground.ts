/**
 * Requests of the playground. A conversation in canonical form is written as a client of a wire writes it, and then served
 * like any other request of the operator. The answer is read as such a client reads it.
 */
import { z } from "zod";
import { EFFORTS, type GenerateRequest, type Message, type Tool } from "../../canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../canonical/json.ts";
import type { Gateway } from "../../context/gateway.ts";
import { type OwnRequest, type RequestContext, withCaller } from "../../context/request_context.ts";
import type { Target, WireClient } from "../../contract/driver.ts";
import type { AnyProtocol } from "../../contract/protocol.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import { methodNotAllowed } from "../../http/operator_endpoints.ts";
import { factsOf } from "../../inference/facts.ts";
import { prepareForTarget } from "../../inference/target_stages.ts";
import { answerAsEvents, type Written } from "./playground_answer.ts";
import { driverOf, isForConversations } from "./replayed.ts";
import { checkOrigin, operatorOf } from "./sessions.ts";

const json = z.custom<JsonObject>(isJsonObject, { params: { expected: "object" } });
const extra = z.strictObject({ wire: z.string(), fields: json, hints: json.optional() }).optional();
const text = z.strictObject({ type: z.literal("text"), text: z.string(), extra });
const file = z.strictObject({
  type: z.literal("file"),
  mediaType: z.string().min(1),
  source: z.union([
    z.strictObject({ type: z.literal("base64"), data: z.string() }),
    z.strictObject({ type: z.literal("url"), url: z.url({ protocol: /^https?$/ }) }),
  ]),
  name: z.string().optional(),
});
const opaque = z.strictObject({ origin: z.string(), data: z.string(), target: z.string().optional() }).optional();
const call = z.strictObject({
  type: z.literal("tool-call"),
  kind: z.enum(["function", "custom"]),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.string(),
  extra,
});
const said = z.discriminatedUnion("type", [
  text,
  file,
  call,
  z.strictObject({ type: z.literal("reasoning"), text: z.string(), opaque, extra }),
  z.strictObject({ type: z.literal("refusal"), text: z.string(), extra }),
]);
const result = z.strictObject({
  type: z.literal("tool-result"),
  id: z.string().min(1),
  content: z.array(z.discriminatedUnion("type", [text, file])),
  isError: z.boolean().optional(),
});
const asked = z.array(z.discriminatedUnion("type", [text, file]));
const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: asked }),
  z.strictObject({ role: z.literal("user"), content: asked }),
  z.strictObject({ role: z.literal("assistant"), content: z.array(said) }),
  z.strictObject({ role: z.literal("tool"), content: z.array(result) }),
]);
const tool = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("function"),
    name: z.string().min(1),
    description: z.string().optional(),
    parameters: json.optional(),
    strict: z.boolean().optional(),
  }),
  /** A tool as its wire writes it, which the server runs. */
  z.strictObject({ type: z.literal("hosted"), name: z.string().min(1), fields: json }),
]);
const askedSchema = z.strictObject({
  wire: z.string(),
  lane: z.string().min(1),
  /** Groups the requests of one conversation. */
  session: z.string().regex(/^[\w-]{1,64}$/).optional(),
  request: z.strictObject({
    model: z.string().min(1),
    messages: z.array(message).min(1),
    tools: z.array(tool).optional(),
    toolChoice: z.strictObject({ type: z.enum(["auto", "none", "required"]) }).optional(),
    thinking: z.strictObject({ effort: z.enum(EFFORTS) }).optional(),
    maxOutputTokens: z.int().min(1).optional(),
    temperature: z.number().optional(),
    topP: z.number().optional(),
    stopSequences: z.array(z.string()).optional(),
    seed: z.int().optional(),
    outputSchema: z.strictObject({ name: z.string().optional(), schema: json.optional() }).optional(),
  }),
});
type Asked = z.output<typeof askedSchema>;

/** How a wire is spoken, and the endpoint for it. */
interface Speech {
  client: WireClient;
  /** Absent if the client names the path itself. */
  path?: string;
}

/** `playground/wires` lists the wires, `playground/request` writes a request, and `playground/ask` sends it as well. */
export async function playground(name: string, context: RequestContext): Promise<Response | OwnRequest> {
  const { request: { method }, gateway } = context;
  if (name === "playground/wires") {
    if (method !== "GET" && method !== "HEAD") throw methodNotAllowed(method, ["GET", "HEAD"]);
    await operatorOf(context);
    return answer({ wires: wiresOf(gateway), limitBytes: gateway.guards.limits.bodyBytes });
  }
  if (name !== "playground/request" && name !== "playground/ask") {
    throw new GatewayError("not_found", `The console has no page "${name}"`);
  }
  if (method !== "POST") throw methodNotAllowed(method, ["POST"]);
  checkOrigin(context);
  const caller = await operatorOf(context);
  const { asked, release } = await read(withCaller(context, caller));
  try {
    const speech = await speechOf(asked.wire, gateway);
    const input = inputOf(asked);
    const written = write(input, asked, speech);
    if (name === "playground/request") return answer(written);
    return {
      caller,
      request: requestOf(written, asked, context),
      answered: answerAsEvents(input, written, speech.client, context),
    };
  } finally {
    release?.();
  }
}

function answer(value: object): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}

async function read(
  { request, gateway, caller, isServed }: RequestContext,
): Promise<{ asked: Asked; release?: () => void }> {
  // A form on another site can have other content types, but not this one.
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new GatewayError("unsupported_media_type", "Expected content-type application/json");
  }
  const { body, release } = await gateway.guards.uploads.readJson(request, caller.owner, isServed);
  try {
    return { asked: validate(askedSchema, body), release };
  } catch (refusal) {
    release?.();
    throw refusal;
  }
}

function wiresOf({ registry, drivers }: Gateway): string[] {
  const spoken = registry.protocols.filter((one) =>
    one.client || isForConversations(one) && driverOf(one.wire, drivers)
  );
  return [...new Set(spoken.map(({ wire }) => wire))];
}

async function speechOf(wire: string, { registry, drivers }: Gateway): Promise<Speech> {
  const spoken = registry.protocols.filter((one) => one.wire === wire);
  const own = spoken.find(({ client }) => client);
  if (own) {
    await own.load?.();
    return { client: await own.client!() };
  }
  const driver = driverOf(wire, drivers);
  const protocol = spoken.find(isForConversations);
  const way = driver?.operations.generate;
  if (!driver || !protocol || !way || "local" in way || !way.stream) {
    throw new GatewayError("invalid_request", `The playground does not speak the wire "${wire}"`, { param: "wire" });
  }
  const { intake } = driver;
  // The gateway itself takes every level and every thought.
  const open = (target: Target) => ({ ...intake!(target), holdThinking: undefined, isUnsigned: undefined });
  const client = { request: way.request, stream: way.stream, ...(intake && { intake: open }) };
  return { client, path: pathOf(protocol) };
}

function pathOf({ pattern }: AnyProtocol): string {
  return pattern.pathname.replace(/^\/:lane\//, "");
}

/** A name of no family: what a family wants is the gateway's affair at its upstreams. */
const ANY_MODEL = "model";

function inputOf({ wire, request }: Asked): GenerateRequest {
  const { tools, ...rest } = request;
  return {
    ...rest,
    messages: rest.messages as Message[],
    stream: true,
    ...(tools && tools.length > 0 && {
      tools: tools.map((one): Tool =>
        one.type === "hosted" ? { type: "hosted", name: one.name, extra: { wire, fields: one.fields } } : one
      ),
    }),
  };
}

export function write(
  asked: GenerateRequest,
  { wire, lane }: Pick<Asked, "wire" | "lane">,
  { client, path }: Speech,
): Written {
  const notes = new Set<string>();
  const note = (text: string) => void notes.add(text);
  const model = path === undefined ? asked.model : ANY_MODEL;
  const input = { ...asked, model };
  const target = { upstream: "", model, systemMessages: "first" as const };
  const prepared = prepareForTarget(input, {
    facts: factsOf(input),
    target: model,
    clientWire: wire,
    systemMessages: target.systemMessages,
    refusedTools: [],
    refusesCacheHints: false,
    refusesReasoning: false,
    intake: client.intake?.(target),
  }, note);
  const [call] = [client.request(prepared, target, { clientWire: wire, note })].flat();
  if (!call || !("path" in call) || !isJsonObject(call.body)) {
    throw new GatewayError("invalid_request", `The wire "${wire}" has no JSON for it`);
  }
  const body = path === undefined ? call.body : { ...call.body, model: asked.model };
  return {
    wire,
    path: `${encodeURIComponent(lane)}/${path ?? call.path}`,
    body,
    notes: [...notes],
  };
}

function requestOf(
  { wire, path, body }: Written,
  { session }: Asked,
  { request, url, gateway }: RequestContext,
): Request {
  const headers = new Headers({ "content-type": "application/json", accept: "text/event-stream" });
  const client = request.headers.get("user-agent");
  if (client !== null) headers.set("user-agent", client);
  const own = gateway.registry.protocols.find((protocol) => protocol.wire === wire && protocol.sessionHeaders);
  const sessionHeader = own?.sessionHeaders?.[0] ?? gateway.routing.sessionHeaders.at(-1);
  if (session !== undefined && sessionHeader !== undefined) headers.set(sessionHeader, session);
  return new Request(new URL(`/${path}`, url), {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal: request.signal,
  });
}
