/** The tool that draws pictures: how clients ask for it, and the item of a call. Shapes: the vendor's SDK. */
import type { HostedPart } from "../../src/canonical/generate.ts";
import type { DrawWork, HostedResult } from "../../src/canonical/hosted.ts";
import { asText, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";

export const PICTURE_ITEM = "image_generation_call";

/** The settings that both this tool and the images wire have. */
const SETTINGS = ["size", "quality", "background", "output_format", "output_compression"];

export function drawWork(tool: JsonObject): DrawWork {
  const { action, input_image_mask: mask } = tool;
  const settings = Object.fromEntries(Object.entries(tool).filter(([name]) => SETTINGS.includes(name)));
  return {
    kind: "image",
    ...((action === "generate" || action === "edit") && { action }),
    settings: { ...settings, ...(isJsonObject(mask) && { mask }) },
  };
}

/** The step for an item that a client sends back. Its prompt is the one that the drawing model was given. */
export function pictureStep(item: JsonObject): Pick<HostedPart, "call" | "result"> {
  const { result, revised_prompt, action, status } = item;
  const call = {
    kind: "image" as const,
    prompt: asText(revised_prompt),
    ...(action === "edit" && { isEdit: true as const }),
  };
  return { call, result: resultIn(result, status, item) };
}

function resultIn(result: unknown, status: unknown, item: JsonObject): HostedResult {
  if (typeof result !== "string" || result === "") {
    return status === "failed" ? { kind: "error", code: "unavailable" } : { kind: "lost" };
  }
  const format = asText(item.output_format) || "png";
  return { kind: "picture", base64: result, mediaType: `image/${format}`, facts: {} };
}

/** The item of a call: as it begins, and once the picture is drawn. */
export function serializePicture({ id, call, result }: HostedPart): JsonObject {
  const status = result === undefined ? "in_progress" : result.kind === "error" ? "failed" : "completed";
  const item = { type: PICTURE_ITEM, id: `ig_${id}`, status, result: null };
  if (call.kind !== "image" || result?.kind !== "picture") return item;
  const { base64, revisedPrompt = call.prompt, facts } = result;
  return {
    ...item,
    result: base64,
    action: call.isEdit ? "edit" : "generate",
    revised_prompt: revisedPrompt,
    ...facts,
  };
}
