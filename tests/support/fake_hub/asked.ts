import type { Asked } from "../fake_upstream.ts";

/** A request that the fake hub received, with its body unchanged. */
export interface HubAsked extends Asked {
  bytes: Uint8Array<ArrayBuffer>;
}

/** The hosts that the fake hub stands for. */
export const HOSTS = {
  hub: "huggingface.co",
  router: "router.huggingface.co",
  fal: "fal.media",
  replicate: "replicate.delivery",
  wavespeed: "static.wavespeed.ai",
  zai: "aigc-files.bigmodel.cn",
} as const;

/** The token that the fake hub takes. */
export const TOKEN = "hf_token-5a4b3c";

/** The body as JSON; an empty object where it is none. */
export function jsonOf({ body }: HubAsked): Record<string, unknown> {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}

/** The fields of the multipart body. */
export async function formOf({ bytes, headers }: HubAsked): Promise<FormData> {
  return await new Response(bytes, { headers: { "content-type": headers.get("content-type") ?? "" } }).formData();
}

/** The fields of a multipart body as plain data: a file as its name, type and size. */
export function describeForm(form: FormData): Record<string, unknown> {
  const fields: Record<string, unknown[]> = {};
  for (const [name, value] of form.entries()) {
    const shown = value instanceof File ? { name: value.name, type: value.type, size: value.size } : value;
    (fields[name] ??= []).push(shown);
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}
