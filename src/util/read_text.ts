/** The text of a body, up to `most` characters. The rest is not returned. */
export async function readText(
  body: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<{ text: string; isCut: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > most) return { text: text.slice(0, most), isCut: true };
  }
  return { text: text + decoder.decode(), isCut: false };
}
