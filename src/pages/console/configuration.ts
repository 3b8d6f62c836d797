/** The page of the configuration: its text without secrets, and an operator's changes to it. */
import { z } from "zod";
import type { JsonObject } from "../../canonical/json.ts";
import type { Problem } from "../../config/check.ts";
import { type MaskedText, maskText, unmaskText } from "../../config/mask_text.ts";
import type { ConfigurationDesk } from "../../context/console.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { finderOf } from "../../context/secrets.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import { isLocalCall } from "../../http/auth.ts";
import { digestOf } from "../../util/digest.ts";
import { runSliced } from "../../util/sliced_work.ts";
import { allSettings, completionAt } from "./completion.ts";

const CHANGED = "The file has changed in the meantime: load it, and make your change again.";
/** The first number of a hidden secret in the former text. Numbers in the present text are smaller. */
const FORMER_FROM = 1_000_000;

export async function readConfiguration(context: RequestContext): Promise<Response> {
  const desk = await deskOf(context);
  const { present, former, file, version } = await masksOf(desk, context);
  const waits = file.text === undefined ? undefined : await desk.waits(file.text);
  return Response.json({ ...file, text: present?.text, former: former?.text, version, waits });
}

const checkSchema = z.strictObject({ text: z.string() });

export async function checkConfiguration(context: RequestContext, body: JsonObject): Promise<Response> {
  const desk = await deskOf(context);
  const { text } = validate(checkSchema, body);
  const whole = await unmasked(text, await masksOf(desk, context), context);
  if ("problem" in whole) return Response.json({ problems: [whole.problem] });
  const checked = await desk.check(whole.text, { isLocal: isLocalCall(context.request, context.peer) });
  if (!("problems" in checked)) return Response.json(checked);
  const problems = checked.problems.map(({ path, message }) => ({ path, message: context.hide(message) }));
  return Response.json({ problems });
}

const applySchema = z.strictObject({
  text: z.string(),
  version: z.string(),
  atRestart: z.boolean().default(false),
  title: z.string().max(500).optional(),
});

export async function applyConfiguration(context: RequestContext, body: JsonObject): Promise<Response> {
  const desk = await deskOf(context);
  const { text, version, atRestart, title } = validate(applySchema, body);
  const masks = await masksOf(desk, context);
  // The numbers of hidden secrets mean other secrets in another version.
  if (masks.file.why === undefined && version !== masks.version) {
    return Response.json({ outcome: "conflict", message: CHANGED });
  }
  const whole = await unmasked(text, masks, context);
  if ("problem" in whole) return Response.json({ outcome: "wrong", message: whole.problem.message });
  const options = { version: masks.file.version ?? "", atRestart, by: context.caller.name, title };
  const applied = await desk.apply(whole.text, options);
  return Response.json("message" in applied ? { ...applied, message: context.hide(applied.message) } : applied);
}

/** The names and values that are allowed at `?path=`, a JSON array of names and numbers. */
export function completeConfiguration({ url }: RequestContext): Response {
  return Response.json(completionAt(pathIn(url?.searchParams.get("path") ?? "[]")));
}

/** All settings with their descriptions, to be searched. */
export function listSettings(): Response {
  return Response.json({ settings: allSettings() });
}

function pathIn(text: string): (string | number)[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (Array.isArray(value) && value.every((one) => typeof one === "string" || typeof one === "number")) return value;
  throw new GatewayError("invalid_request", "Expected a JSON array of names and numbers", { param: "path" });
}

type Masks = Awaited<ReturnType<typeof masksOf>>;

export async function unmasked(
  text: string,
  { present, former }: Masks,
  { signal }: RequestContext,
): Promise<{ text: string } | { problem: Problem }> {
  const masked = [present, former].filter((one) => one !== undefined);
  const { text: whole, lost: [lost] } = await runSliced(unmaskText(text, ...masked), signal);
  if (lost === undefined) return { text: whole };
  const line = text.slice(0, text.indexOf(lost)).split("\n").length;
  return { problem: { path: "", message: `line ${line}: ${lost} stands for nothing that is hidden in its place` } };
}

export async function masksOf(desk: ConfigurationDesk, { gateway, signal }: RequestContext) {
  const file = desk.read();
  const secrets = finderOf(gateway.secrets);
  const mask = async (text: string | undefined, first: number): Promise<MaskedText | undefined> =>
    text === undefined ? undefined : await runSliced(maskText(text, (plain) => secrets.isIn(plain), first), signal);
  const [present, former] = [await mask(file.text, 1), await mask(file.former, FORMER_FROM)];
  // The version covers the masked texts as well, because the masks also depend on the secrets of the running gateway.
  const version = file.version && digestOf(JSON.stringify([file.text, file.former, present?.text, former?.text]));
  return { file, present, former, version };
}

export async function deskOf({ gateway }: RequestContext): Promise<ConfigurationDesk> {
  const { configuration } = await gateway.console!.parts();
  if (configuration) return configuration;
  throw new GatewayError("unsupported", "A program gave this gateway its configuration: there is no file");
}
