// @ts-check
/// <reference lib="dom" />
/** Answers of the gateway as they arrive. */

/**
 * The text of a body, piece by piece. Leaving the loop early ends the request.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>> | null} body
 */
export async function* textsIn(body) {
  // Not every browser can iterate a stream.
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) yield read.value;
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

/**
 * The events of a stream, each as JSON.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>> | null} body
 */
export async function* eventsIn(body) {
  let rest = "";
  for await (const piece of textsIn(body)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const data = line.startsWith("data:") ? line.slice("data:".length).trim() : "";
      if (data.startsWith("{")) yield JSON.parse(data);
    }
  }
}
