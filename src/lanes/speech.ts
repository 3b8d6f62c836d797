import type { SpeechFormat } from "../canonical/audio.ts";
import type { Quirks } from "../contract/quirks.ts";

/** The same targets, but those that are known not to make the wanted format of speech come last. */
export function preferFormat<T extends Quirks>(targets: readonly T[], format: SpeechFormat): T[] {
  const makes = ({ speechFormats }: Quirks) => !speechFormats || speechFormats[format] !== undefined;
  return [...targets.filter(makes), ...targets.filter((target) => !makes(target))];
}
