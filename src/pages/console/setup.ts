/** The console's guide: sets up models and clients by commands that the launcher runs. */
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../canonical/json.ts";
import type { RequestContext } from "../../context/request_context.ts";
import type { SetupDesk, SetupTask } from "../../context/setup.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import { isLocalCall } from "../../http/auth.ts";

/** The header in which a page gives its session with the launcher. */
const SESSION = "x-laneway-setup";
export const EMBEDDED = "A program gave this gateway its configuration: there is no file, and no command can be run";
const FAR = "Commands are run only for a page on the gateway's own machine. Run them there yourself";

/** The facts that the guide shows. No command is run for them. */
export async function readSetup(context: RequestContext): Promise<Response> {
  const { gateway, request, peer, hide, caller } = context;
  const { setup, setupDesk: desk } = await gateway.console!.parts();
  const isLocal = isLocalCall(request, peer);
  const why = whyNot(desk, context);
  const state = desk && why === undefined ? await desk.state(sessionOf(context)) : { needsCode: false, isOpen: false };
  return Response.json({
    isFresh: desk?.isFresh ?? false,
    file: desk?.file,
    canAct: why === undefined,
    why,
    ...state,
    // The launcher learns of keys with its next start only.
    needsKey: caller.owner !== "local",
    command: desk?.command,
    isLocal,
    platform: desk?.platform,
    upstreams: setup.upstreams().map((one) => ({ ...one, ...one.reason && { reason: hide(one.reason) } })),
    models: setup.models().map((one) => ({
      ...one,
      name: hide(one.name),
      targets: one.targets.map(({ upstream, model, price = gateway.prices.mostOf({ upstream, model }) }) => ({
        upstream: hide(upstream),
        model: hide(model),
        price,
      })),
    })),
    providers: setup.providers(),
    hub: setup.hub,
  });
}

type Step = (desk: SetupDesk, body: JsonObject, context: RequestContext) => Promise<Response>;

const openSchema = z.strictObject({ code: z.string().max(100) });
const writeSchema = z.strictObject({ answers: z.record(z.string(), z.unknown()), version: z.string() });
const connectSchema = z.strictObject({
  client: z.string(),
  model: z.string().optional(),
  lane: z.string().optional(),
  key: z.string().optional(),
  undo: z.boolean().optional(),
  print: z.boolean().optional(),
});

/** The actions below `/console/api/setup/`. */
const STEPS: Readonly<Record<string, Step>> = {
  async open(desk, body) {
    return Response.json({ token: await desk.open(validate(openSchema, body).code) });
  },
  find: async (desk, _, context) => Response.json(await run({ do: "find" }, desk, context)),
  check: async (desk, source, context) => Response.json(await run({ do: "check", source }, desk, context)),
  async plan(desk, answers, context) {
    const plan = await run({ do: "plan", answers }, desk, context);
    const text = configurationIn(plan, desk.file);
    const restart = text === undefined ? undefined : desk.restartFor(text);
    return Response.json({ ...plan, ...restart !== undefined && { restart: context.hide(restart) } });
  },
  async write(desk, body, context) {
    const { answers, version } = validate(writeSchema, body);
    const written = await run({ do: "write", answers, version }, desk, context);
    if (written.ok !== true) return Response.json(written);
    const { gateway: { observe: { audit } }, caller: { name: by } } = context;
    audit?.write({ event: "command run", command: "init", by });
    const effect = await desk.use(sessionOf(context), by);
    if (effect.outcome === "restarted") audit?.write({ event: "restarted", by });
    return Response.json({ ...written, ...effect });
  },
  async connect(desk, body, context) {
    const task = { do: "connect" as const, ...validate(connectSchema, body) };
    const lines = await desk.stream(task, sessionOf(context), context.signal);
    const { gateway, caller: { name: by } } = context;
    if (!task.print) {
      gateway.observe.audit?.write({ event: "command run", command: "connect", client: task.client, by });
    }
    return new Response(lines, { headers: { "content-type": "application/x-ndjson" } });
  },
};

/** An action of the guide. `context.caller` is the operator. */
export function setUp(step: string): (context: RequestContext, body: JsonObject) => Promise<Response> {
  return async (context, body) => {
    const { setupDesk: desk } = await context.gateway.console!.parts();
    const why = whyNot(desk, context);
    const isLocal = isLocalCall(context.request, context.peer);
    if (!desk || why !== undefined) throw new GatewayError(isLocal ? "unsupported" : "permission", why!);
    return await STEPS[step]!(desk, body, context);
  };
}

/** Why no command can be run for the page. */
export function whyNot(desk: SetupDesk | undefined, { request, peer }: RequestContext): string | undefined {
  if (!desk) return EMBEDDED;
  return desk.why ?? (isLocalCall(request, peer) ? undefined : FAR);
}

export function sessionOf({ request: { headers } }: RequestContext): string | undefined {
  return headers.get(SESSION) ?? undefined;
}

async function run(task: SetupTask, desk: SetupDesk, context: RequestContext): Promise<JsonObject> {
  const printed = await desk.run(task, sessionOf(context), context.signal);
  if (isJsonObject(printed)) return printed;
  throw new GatewayError("unavailable", "The command printed no JSON object");
}

/** The text of the configuration file in a plan. */
function configurationIn({ files }: JsonObject, file: string): string | undefined {
  if (!Array.isArray(files)) return undefined;
  const plain = files.filter(isJsonObject).filter(({ isSecret }) => isSecret !== true);
  const name = (path: unknown) => String(path).replace(/^.*[/\\]/, "");
  const { text } = plain.find(({ path }) => name(path) === name(file)) ?? plain[0] ?? {};
  return typeof text === "string" ? text : undefined;
}
