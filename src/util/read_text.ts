/** The text of a body, up to so many characters; the rest is left where it is. */
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
