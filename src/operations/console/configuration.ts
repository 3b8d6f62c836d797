/** The page of the configuration: its text without secrets, and what an operator makes of it. */
import { z } from "zod";
import type { JsonObject } from "../../canonical/json.ts";
import { type MaskedText, maskText, unmaskText } from "../../config/mask_text.ts";
import type { ConfigurationDesk } from "../../context/console.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { SHORTEST_MASKED } from "../../context/secrets.ts";
import { validate } from "../../contract/validate.ts";
import { GatewayError } from "../../errors.ts";
import { completionAt } from "./completion.ts";

/** Numbers of what is hidden in the former text: none of the present one's. */
const FORMER_FROM = 1_000_000;

export async function readConfiguration(context: RequestContext): Promise<Response> {
  const desk = await deskOf(context);
  const { present, former, file } = masksOf(desk, context);
  return Response.json({ ...file, text: present?.text, former: former?.text });
}

const checkSchema = z.strictObject({ text: z.string() });

export async function checkConfiguration(context: RequestContext, order: JsonObject): Promise<Response> {
  const desk = await deskOf(context);
  const { text } = validate(checkSchema, order);
  const checked = desk.check(unmasked(text, desk, context));
  if (!("problems" in checked)) return Response.json(checked);
  const problems = checked.problems.map(({ path, message }) => ({ path, message: context.hide(message) }));
  return Response.json({ problems });
}

const applySchema = z.strictObject({ text: z.string(), version: z.string(), atRestart: z.boolean().default(false) });

export async function applyConfiguration(context: RequestContext, order: JsonObject): Promise<Response> {
  const desk = await deskOf(context);
  const { text, version, atRestart } = validate(applySchema, order);
  const applied = desk.apply(unmasked(text, desk, context), { version, atRestart, by: context.caller.name });
  return Response.json("message" in applied ? { ...applied, message: context.hide(applied.message) } : applied);
}

/** What may stand at `?path=`, a JSON array of names and numbers. */
export function completeConfiguration({ url }: RequestContext): Response {
  return Response.json(completionAt(pathIn(url?.searchParams.get("path") ?? "[]")));
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

function unmasked(text: string, desk: ConfigurationDesk, context: RequestContext): string {
  const { present, former } = masksOf(desk, context);
  return unmaskText(text, ...[present, former].filter((one) => one !== undefined));
}

function masksOf(desk: ConfigurationDesk, { gateway }: RequestContext) {
  const file = desk.read();
  const secrets = gateway.secrets.filter((secret) => secret.length >= SHORTEST_MASKED);
  const mask = (text: string | undefined, first: number): MaskedText | undefined =>
    text === undefined ? undefined : maskText(text, secrets, first);
  return { file, present: mask(file.text, 1), former: mask(file.former, FORMER_FROM) };
}

async function deskOf({ gateway }: RequestContext): Promise<ConfigurationDesk> {
  const { configuration } = await gateway.console!();
  if (configuration) return configuration;
  throw new GatewayError("unsupported", "This gateway was given its configuration by a program: it has no file");
}
