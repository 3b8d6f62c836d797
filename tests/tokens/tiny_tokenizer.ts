/** The files of a tokenizer that is small enough to be read: a token for each byte, for four merges, and for each mark. */
const MERGES = [["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"]] as const;
const MARKS = ["<|im_start|>", "<|im_end|>"];

/** Bytes as byte-level vocabularies write them: those that are no printable letter as one above 255. */
function letters(): string[] {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : others++));
}

export function tokenizerJson(): string {
  const words = [...letters(), ...MERGES.map((pair) => pair.join(""))];
  const mark = (content: string, at: number) => ({
    id: words.length + at,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  return JSON.stringify({
    version: "1.0",
    added_tokens: MARKS.map(mark),
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: "ByteLevel" },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      fuse_unk: false,
      vocab: Object.fromEntries(words.map((word, id) => [word, id])),
      merges: MERGES,
    },
  });
}

/** A chat template as families have it: turns between marks, tools first, the arguments of calls gone through by name. */
export const CHATML = `{%- if tools %}<|im_start|>system
{%- for tool in tools %}{{ tool | tojson }}{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.content is not string %}{{ raise_exception('Expected a text') }}{% endif %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
{%- for name, value in call.function.arguments | items %}{{ call.function.name }}:{{ name }}={{ value }}{% endfor %}
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}x{% endif %}{% endif %}`;

/** Refuses every conversation. */
export const REFUSING = "{{ raise_exception('Conversations must begin otherwise') }}";
/** Does not end. */
export const ENDLESS =
  "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}{% endfor %}{% endfor %}{% endfor %}";

/** Splits texts by a pattern that takes for ever for `hello`, thirty times in a row. */
export function endlessVocabulary(): Uint8Array<ArrayBuffer> {
  const split = { type: "Split", pattern: { Regex: "(?:(?:[a-z]+)+)+\\d" }, behavior: "Isolated", invert: false };
  return new TextEncoder().encode(JSON.stringify({ ...JSON.parse(tokenizerJson()), pre_tokenizer: split }));
}

export function filesOf(template: string | undefined = CHATML) {
  const encode = (text: string) => new TextEncoder().encode(text);
  return {
    vocabulary: encode(tokenizerJson()),
    settings: encode(JSON.stringify({ eos_token: { content: "<|im_end|>" }, bos_token: null })),
    template: encode(template),
  };
}
