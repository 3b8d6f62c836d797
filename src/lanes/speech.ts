import type { SpeechFormat } from "../canonical/audio.ts";
import type { Quirks } from "../contract/quirks.ts";

/** Moves the targets that are known not to support the speech format to the end. */
export function preferFormat<T extends Quirks>(targets: readonly T[], format: SpeechFormat): T[] {
  const makes = ({ speechFormats }: Quirks) => !speechFormats || speechFormats[format] !== undefined;
  return [...targets.filter(makes), ...targets.filter((target) => !makes(target))];
}
