/** The forms for upstreams and models: the entries of the configuration, and the change that a form would make. */
import { z } from "zod";
import type { JsonObject } from "../../canonical/json.ts";
import { TASKS } from "../../canonical/models.ts";
import type { Problem } from "../../config/check.ts";
import type { MaskedText } from "../../config/mask_text.ts";
import type { Edit } from "../../context/console.ts";
import type { RequestContext } from "../../context/request_context.ts";
import { validate } from "../../contract/validate.ts";
import { isLocalCall } from "../../http/auth.ts";
import { deskOf, masksOf, unmasked } from "./configuration.ts";

const CHANGED_SINCE = "Somebody has changed the file since, so that the change cannot be taken back as a whole";

/** The upstreams and lanes of the file, without secrets. Absent if there is no file, or if it is no JSON. */
export async function readEntries(context: RequestContext): Promise<Response> {
  const { setup, configuration: desk } = await context.gateway.console!.parts();
  if (!desk) return Response.json({ isAbsent: true });
  const { present, file, version } = await masksOf(desk, context);
  const waits = file.text === undefined ? undefined : await desk.waits(file.text);
  const { source, why, last } = file;
  const facts = { drivers: setup.drivers(), tasks: TASKS, providers: setup.providers() };
  const entries = await desk.entries(present?.text).catch((error) => {
    if (error instanceof SyntaxError) return { isAbsent: true };
    throw error;
  });
  return Response.json({ source, why, last, version, waits, hasFile: file.text !== undefined, ...facts, ...entries });
}

const place = z.array(z.union([z.string(), z.int().min(0)])).min(1).max(50);
const planSchema = z.union([
  z.strictObject({ edits: z.array(z.strictObject({ at: place, value: z.json().optional() })).max(10_000) }),
  z.strictObject({ undo: z.string() }),
]);

/** The file before and after the edits, both without secrets, and the effect. `undo`: the version that is taken back. */
export async function planEdits(context: RequestContext, body: JsonObject): Promise<Response> {
  const desk = await deskOf(context);
  const asked = validate(planSchema, body);
  const masks = await masksOf(desk, context);
  const { present, former, version, file } = masks;
  const found = "undo" in asked
    ? asked.undo === version && former ? { text: withNumbersOf(present, former) } : wrong(CHANGED_SINCE)
    : await desk.edited(present?.text, asked.edits as Edit[]);
  const hide = ({ path, message }: Problem) => ({ path, message: context.hide(message) });
  if ("problems" in found) return Response.json({ problems: found.problems.map(hide) });
  const whole = await unmasked(found.text, masks, context);
  if ("problem" in whole) return Response.json({ problems: [hide(whole.problem)] });
  const checked = await desk.check(whole.text, { isLocal: isLocalCall(context.request, context.peer) });
  if ("problems" in checked) return Response.json({ problems: checked.problems.map(hide) });
  const isHidden = whole.text !== found.text;
  return Response.json({ ...checked, before: present?.text, text: found.text, isHidden, version, why: file.why });
}

/** The text in which the same secrets have the same numbers as in the present one, so that they are no difference. */
function withNumbersOf(present: MaskedText | undefined, { text, hidden }: MaskedText): string {
  const numbers = new Map([...present?.hidden ?? []].map(([number, one]) => [JSON.stringify(one), number]));
  return text.replace(/"\*\*\*(\d+)\*\*\*"/g, (whole, number: string) => {
    const same = numbers.get(JSON.stringify(hidden.get(number)));
    return same === undefined ? whole : `"***${same}***"`;
  });
}

function wrong(message: string): { problems: Problem[] } {
  return { problems: [{ path: "", message }] };
}

const testSchema = z.strictObject({ upstream: z.string() });

/** Asks an upstream whether it answers. */
export async function testUpstream(context: RequestContext, body: JsonObject): Promise<Response> {
  const desk = await deskOf(context);
  const { upstream } = validate(testSchema, body);
  const tested = Object.entries(await desk.test(upstream)).map(([name, value]) => [name, hidden(value, context)]);
  return Response.json(Object.fromEntries(tested));
}

function hidden(value: string | string[] | boolean, { hide }: RequestContext): string | string[] | boolean {
  if (typeof value === "boolean") return value;
  return Array.isArray(value) ? value.map((one) => hide(one)) : hide(value);
}
