/** Voices by model family, as data for every speech driver. */
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";

interface Family {
  model: RegExp;
  /** The default, for a server that requires a voice. */
  usual: string;
  /** Its voice for each name of the published schema, which most clients use; its own names need no entry. */
  voices: Readonly<Record<string, string>>;
}

const FAMILIES: readonly Family[] = [
  {
    model: /kokoro/i,
    usual: "af_heart",
    voices: {
      alloy: "af_alloy",
      ash: "am_michael",
      ballad: "bm_george",
      cedar: "am_adam",
      coral: "bf_emma",
      echo: "am_echo",
      fable: "bm_fable",
      marin: "af_heart",
      nova: "af_nova",
      onyx: "am_onyx",
      sage: "af_sarah",
      shimmer: "af_sky",
      verse: "am_puck",
    },
  },
  {
    model: /orpheus/i,
    usual: "tara",
    voices: {
      alloy: "tara",
      ash: "leo",
      ballad: "leo",
      cedar: "dan",
      coral: "leah",
      echo: "zac",
      fable: "dan",
      marin: "tara",
      nova: "mia",
      onyx: "dan",
      sage: "jess",
      shimmer: "zoe",
      verse: "zac",
    },
  },
  { model: /qwen3-tts/i, usual: "Vivian", voices: {} },
];

/**
 * Maps the voice that the client named to the target's: by the configuration, else by the model's family, else unchanged.
 * `note` reports a change. Throws `invalid_request` if the server requires a voice and there is neither a name nor a default.
 */
export function resolveVoice(
  named: string | undefined,
  target: Target,
  note: (text: string) => void,
): string | undefined {
  const { model, needsVoice, voices: own = {} } = target;
  const family = FAMILIES.find((one) => one.model.test(model));
  if (named === undefined) {
    if (!needsVoice) return undefined;
    const usual = own["*"] ?? family?.usual;
    if (usual !== undefined) return usual;
    throw new GatewayError("invalid_request", `Model "${model}" needs a voice: name one of its own`, {
      param: "voice",
      tryNextTarget: true,
    });
  }
  const isOwn = Object.values(own).includes(named);
  const voice = isOwn ? named : lookUp(own, named) ?? own["*"] ?? lookUp(family?.voices ?? {}, named) ?? named;
  if (voice !== named) note(`mapped voice ${named}>${voice}`);
  return voice;
}

function lookUp(voices: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(voices, name) ? voices[name] : undefined;
}
