/** Every server's words for a conversation that does not fit: it is known as that, and agents are told the right numbers. */
import { assertEquals } from "@std/assert";
import { upstreamError, upstreamStreamError } from "../../../plugins/shared/errors.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { MESSAGES } from "../../support/wires.ts";

type Pair = [asked: number, maximum: number];
/** Where the input fits, and a shorter answer would do. */
type Sum = { input: number; answer: number; maximum: number };
interface Row {
  server: string;
  says: string | JsonObject;
  /** Nothing where the server tells no numbers, or not both. */
  means?: Pair | Sum;
  status?: number;
}

const ROWS: Row[] = [
  // OpenAI
  {
    server: "OpenAI",
    says:
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.",
    means: [4294, 4097],
  },
  {
    server: "OpenAI, functions",
    says:
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 133337 tokens (120000 in the messages, 13337 in the functions). Please reduce the length of the messages or functions.",
    means: [133337, 128000],
  },
  {
    server: "OpenAI, functions and an answer",
    says:
      "This model's maximum context length is 4097 tokens. However, you requested 5203 tokens (3703 in the messages, 1000 in the functions, and 500 in the completion). Please reduce the length of the messages, functions, or completion.",
    means: [5203, 4097],
  },
  {
    server: "OpenAI, completions",
    says:
      "This model's maximum context length is 4097 tokens, however you requested 6539 tokens (6283 in your prompt; 256 for the completion). Please reduce your prompt; or completion length.",
    means: [6539, 4097],
  },
  {
    server: "OpenAI, newer",
    says:
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 299817 tokens. Please reduce the length of the messages.",
    means: [299817, 272000],
  },
  {
    server: "OpenAI, responses",
    says: "Your input exceeds the context window of this model. Please adjust your input and try again.",
  },
  // vLLM
  {
    server: "vLLM ≤ 0.10",
    says:
      "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    means: [122946, 16384],
  },
  {
    server: "vLLM ≤ 0.10, without a limit of the answer",
    says:
      "This model's maximum context length is 131072 tokens. However, you requested 351430 tokens. Please reduce the length of the messages or completion.",
    means: [351430, 131072],
  },
  {
    server: "vLLM 0.11",
    says:
      "This model's maximum context length is 8192 tokens. However, your request has 9001 input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value=9001)",
    means: [9001, 8192],
  },
  {
    server: "vLLM 0.11, the answer",
    says:
      "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context length is 32768 tokens and your request has 12 input tokens (40000 > 32768 - 12). (parameter=max_tokens, value=40000)",
    means: { input: 12, answer: 40000, maximum: 32768 },
  },
  {
    server: "vLLM 0.15",
    says:
      "This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus 2045 'max_tokens'. Please reduce one or the other. (parameter=input_tokens, max_tokens, value=(8, 2045))",
    means: { input: 8, answer: 2045, maximum: 2048 },
  },
  {
    server: "vLLM 0.16",
    says:
      "This model's maximum context length is 131072 tokens. However, you requested 102400 output tokens and your prompt contains at least 28673 input tokens, for a total of at least 131073 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=28673)",
    means: [131073, 131072],
  },
  {
    server: "vLLM 0.16, the same without a guess",
    says:
      "This model's maximum context length is 4096 tokens. However, you requested 300 output tokens and your prompt contains 5518 input tokens, for a total of 5818 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
    means: [5818, 4096],
  },
  {
    server: "vLLM, its engine",
    says: "The engine prompt length 5000 exceeds the max_model_len 4096. Please reduce prompt.",
    means: [5000, 4096],
  },
  {
    server: "vLLM, pictures",
    says:
      "The decoder prompt (length 10127) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens. For image inputs, the number of image tokens depends on the number of images, and possibly their aspect ratios as well.",
    means: [10127, 8192],
  },
  {
    server: "vLLM 0.6, pictures",
    says:
      "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
    means: [25938, 4096],
  },
  // SGLang
  {
    server: "SGLang",
    says: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    means: [61709, 40960],
  },
  {
    server: "SGLang, with the answer",
    says:
      "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested a total of 202941 tokens: 170941 tokens from the input messages and 32000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
    means: [202941, 202752],
  },
  {
    server: "SGLang, its cache",
    says:
      "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.",
    means: [160062, 59862],
  },
  {
    server: "a router before SGLang",
    says: "Input length (265330) exceeds model's maximum context length (262144).",
    means: [265330, 262144],
  },
  {
    server: "a router before vLLM",
    says: "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    means: [131393, 131040],
  },
  // TGI, TEI, Together
  {
    server: "TGI",
    says: "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168",
    means: [1168, 1024],
    status: 422,
  },
  {
    server: "TGI, the answer",
    says:
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512. Given: 1000 `inputs` tokens and 1024 `max_new_tokens`",
    means: { input: 1000, answer: 1024, maximum: 1512 },
    status: 422,
  },
  {
    server: "Together",
    says:
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`",
    means: [9512, 8193],
    status: 422,
  },
  // llama.cpp and what is built on it
  {
    server: "llama.cpp",
    says: "request (5214 tokens) exceeds the available context size (4096 tokens), try increasing it",
    means: [5214, 4096],
  },
  {
    server: "llama.cpp, October 2025",
    says: {
      code: 400,
      message:
        "the request exceeds the available context size. try increasing the context size or enable context shift",
      type: "exceed_context_size_error",
      n_prompt_tokens: 14429,
      n_ctx: 8192,
    },
    means: [14429, 8192],
  },
  {
    server: "llama.cpp, September 2025",
    says: {
      code: 500,
      message:
        "the request exceeds the available context size. try increasing the context size or enable context shift",
      type: "exceed_context_size_error",
      n_prompt_tokens: 1407,
      n_ctx: 256,
    },
    means: [1407, 256],
    status: 500,
  },
  {
    server: "llama.cpp, embeddings",
    says: "input (1234 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
    means: [1234, 512],
  },
  {
    server: "llama.cpp, older",
    says: "the request exceeds the available context size. try increasing the context size",
  },
  {
    server: "llama-cpp-python",
    says:
      "This model's maximum context length is 4096 tokens. However, you requested 5818 tokens (5518 in the messages, 300 in the completion). Please reduce the length of the messages or completion.",
    means: [5818, 4096],
  },
  {
    server: "llama-cpp-python, older",
    says: "Requested tokens (516) exceed context window of 512",
    means: [516, 512],
  },
  { server: "Ollama", says: "the input length exceeds the context length" },
  { server: "Ollama, newer", says: "prompt too long; exceeded max context length by 12 tokens" },
  {
    server: "LM Studio",
    says:
      "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
    means: [111490, 32768],
  },
  {
    server: "LM Studio, newer",
    says:
      "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 15857>= n_ctx: 8192). Try to load the model with a larger context length, or provide a shorter input.",
    means: [15857, 8192],
  },
  {
    server: "LM Studio, in the middle",
    says:
      "Reached context length of 32000 tokens with model (arch: gpt-oss) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.",
  },
  {
    server: "Docker's runner",
    says: "Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
    means: [5958968, 256000],
  },
  // TensorRT-LLM
  {
    server: "TensorRT-LLM",
    says: "Encountered an error when fetching new request: Prompt length (5056) exceeds maximum input length (2048).",
    means: [5056, 2048],
  },
  {
    server: "TensorRT-LLM, older",
    says: "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)",
    means: [5056, 2048],
  },
  {
    server: "TensorRT-LLM, newer",
    says: "The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)",
    means: [9000, 8192],
  },
  // Hosts
  {
    server: "Fireworks",
    says: "The prompt is too long: 202052, model maximum context length: 131071",
    means: [202052, 131071],
  },
  { server: "Groq", says: "Please reduce the length of the messages or completion." },
  {
    server: "Cerebras",
    says: "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
    means: [42328, 40000],
  },
  {
    server: "SambaNova",
    says:
      "The maximum context length of Meta-Llama-3.1-8B-Instruct is 8192. However, answering your request will take 9145 tokens. Please reduce the length of the messages or the specified max_completion_tokens value.",
    means: [9145, 8192],
  },
  {
    server: "Mistral",
    says: "Prompt contains 40870 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    means: [40870, 32768],
  },
  {
    server: "DeepSeek",
    says:
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    means: [131134, 131072],
  },
  {
    server: "OpenRouter",
    says:
      'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
    means: [141607, 131072],
  },
  {
    server: "LiteLLM",
    says:
      "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: Hosted_vllmException - Error code: 400 - {'error': {'message': \"This model's maximum context length is 4096 tokens. However, you requested 5818 tokens (5518 in the messages, 300 in the completion). Please reduce the length of the messages or completion.\", 'type': 'BadRequestError', 'param': None, 'code': 400}}. Received Model Group=m\nAvailable Model Group Fallbacks=None",
    means: [5818, 4096],
  },
  {
    server: "Google",
    says: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    means: [1196265, 1048575],
  },
  {
    server: "Google, Vertex",
    says:
      "Unable to submit request because the input token count is 32825 but model only supports up to 32768. Reduce the input token count and try again.",
    means: [32825, 32768],
  },
  {
    server: "xAI",
    says: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    means: [537812, 131072],
  },
  {
    server: "Moonshot",
    says: "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
    means: [291351, 262144],
  },
  { server: "Moonshot, older", says: "Input token length too long" },
  { server: "Z.ai", says: "tokens in request more than max tokens allowed" },
  { server: "Z.ai, another code", says: "Prompt exceeds max length" },
  { server: "MiniMax", says: "invalid params, context window exceeds limit (2013)" },
  {
    server: "Alibaba",
    says: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
  },
  { server: "Copilot", says: "prompt token count of 150210 exceeds the limit of 128000", means: [150210, 128000] },
  {
    server: "Cohere",
    says:
      "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5321. Try using a shorter prompt.",
    means: [5321, 4081],
  },
  { server: "Bedrock", says: "Input is too long for requested model." },
  // Anthropic
  {
    server: "Anthropic",
    says: "prompt is too long: 213462 tokens > 200000 maximum",
    means: [213462, 200000],
  },
  {
    server: "Anthropic, the answer",
    says:
      "input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, decrease input length or `max_tokens` and try again",
    means: { input: 174167, answer: 64000, maximum: 200000 },
  },
  // Nobody's
  {
    server: "a server that nobody knows",
    says: "context_length_exceeded: error 400, 9000 tokens where 8192 tokens fit into Model-3-32k",
    means: [9000, 8192],
  },
  {
    server: "a server that nobody knows, with numbers of more than one meaning",
    says: "context_length_exceeded: 9000 tokens in 120 messages where 8192 tokens fit",
  },
];

for (const { server, says, means, status = 400 } of ROWS) {
  Deno.test(`overflow: ${server}: known for what it is, and its numbers are the right ones`, async () => {
    const error = typeof says === "string" ? { message: says, type: "invalid_request_error" } : says;
    for (
      const failure of [
        upstreamError({ status, headers: new Headers(), body: { error } }),
        upstreamStreamError({ error }),
      ]
    ) {
      assertEquals(failure.code, "context_length_exceeded");
      const { error: { message } } = await MESSAGES.serializeError(failure).json();
      assertEquals(numbersOf(message), numbersMeant(means), message);
    }
  });
}

/** The numbers that an agent reads: the two, or the three. */
function numbersOf(message: string): number[] {
  const stated = /^prompt is too long: (\d+) tokens > (\d+) maximum$/.exec(message) ??
    /^input length and `max_tokens` exceed context limit: (\d+) \+ (\d+) > (\d+)/.exec(message);
  return stated?.slice(1).map(Number) ?? [];
}

function numbersMeant(means: Row["means"]): number[] {
  if (!means) return [];
  return Array.isArray(means) ? means : [means.input, means.answer, means.maximum];
}

for (
  const says of [
    "max_tokens must be at least 1, got -512.",
    "max_tokens must be at least 1, got 0.",
    "max_completion_tokens must be greater than or equal to 1 (was -3)",
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 1, but got -12 instead.",
    "-512 is less than the minimum of 1 - 'max_tokens'",
    "Invalid max_new_tokens value: -77",
    "`max_tokens` 的值 -2048 无效",
  ]
) {
  Deno.test(`overflow: an answer limit that nobody sent leaves no room: ${says}`, () => {
    const { code } = upstreamError({ status: 400, headers: new Headers(), body: { error: { message: says } } });
    assertEquals(code, "context_length_exceeded");
  });
}

Deno.test("overflow: what limits a rate or a size is no conversation that does not fit", () => {
  const others: [status: number, message: string][] = [
    [429, "Rate limit reached for tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."],
    [
      429,
      "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000. The input or output tokens must be reduced in order to run successfully.",
    ],
    [
      413,
      "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
    ],
    [429, "Throttling error: Too many tokens, please wait before trying again."],
    [400, "max_tokens must be at most 4096"],
    [400, "max_tokens must be -1 or greater than 0"],
    [400, "max_tokens should be in the range [-1, 4096]"],
    [400, "max_tokens must be at least 1 on model gpt-4-32"],
    [400, "temperature must be at least 0, got -1, and max_tokens at most 4096"],
    [500, "The maximum context length was computed wrongly"],
  ];
  for (const [status, message] of others) {
    const { code } = upstreamError({ status, headers: new Headers(), body: { error: { message } } });
    assertEquals(code === "context_length_exceeded", false, message);
  }
});
