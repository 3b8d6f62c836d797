import { assert, assertEquals } from "@std/assert";
import { CONTROLS } from "../../../plugins/shared/refusals.ts";
import { refusesReasoning, thinkingFields } from "../../../plugins/chat/families.ts";
import { chatDriver } from "../../../plugins/chat/mod.ts";
import { serializeRequest } from "../../../plugins/chat/serialize_request.ts";
import type { Effort, Thinking } from "../../../src/canonical/generate.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import type { Quirks } from "../../../src/contract/quirks.ts";
import type { Target } from "../../../src/contract/driver.ts";
import { prepareFor } from "../../support/prepare.ts";
import { newContext, newWireRequest } from "../../support/context.ts";
import { CHAT, TARGET } from "../../support/wires.ts";

const ASKED = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;

/** The fields that go out for each of the six levels, `-` for nothing; `+x` and `-x` are a template's variable, true and false. */
interface Row {
  family: string;
  models: string[];
  router: string;
  /** The router's where absent. */
  template?: string;
}

const TOGGLE = "none - - - - -";
const NOTHING = "- - - - - -";
const ENABLE = "-enable_thinking +enable_thinking +enable_thinking +enable_thinking +enable_thinking +enable_thinking";
const THINK = "-thinking +thinking +thinking +thinking +thinking +thinking";

const TABLE: Row[] = [
  {
    family: "gpt-oss",
    models: ["openai/gpt-oss-120b", "gpt-oss:20b", "openai/gpt-oss-safeguard-20b"],
    router: "low low low medium high high",
  },
  {
    family: "Qwen3 hybrids",
    models: [
      "Qwen/Qwen3-32B:fastest",
      "qwen3:8b",
      "Qwen/Qwen3-235B-A22B",
      "Qwen/Qwen3.5-9B",
      "unsloth/Qwen3.6-35B-A3B-GGUF",
    ],
    router: TOGGLE,
    template: ENABLE,
  },
  {
    family: "Qwen3 that never thinks or always does",
    models: [
      "Qwen/Qwen3-235B-A22B-Instruct-2507",
      "Qwen/Qwen3-Coder-Next",
      "Qwen/Qwen3-Coder-480B-A35B-Instruct",
      "Qwen/Qwen3-30B-A3B-Thinking-2507",
      "Qwen/Qwen3-VL-8B-Instruct",
      "Qwen/Qwen3.8-2.4T-A80B",
    ],
    router: NOTHING,
  },
  {
    family: "Qwen3.8-27B",
    models: ["Qwen/Qwen3.8-27B", "qwen3.8:27b"],
    router: "none low low medium xhigh xhigh",
    template: "-enable_thinking low low medium xhigh xhigh",
  },
  {
    family: "DeepSeek V3.1 and V3.2",
    models: ["deepseek-ai/DeepSeek-V3.1", "deepseek-v3.1:671b", "deepseek-ai/DeepSeek-V3.2-Exp"],
    router: TOGGLE,
    template: THINK,
  },
  {
    family: "DeepSeek V4",
    models: ["deepseek-ai/DeepSeek-V4-Pro", "deepseek-ai/DeepSeek-V4.1-Flash"],
    router: "none low low high high max",
  },
  {
    family: "GLM-4.5 to 5.1",
    models: ["zai-org/GLM-4.5-Air", "zai-org/GLM-4.7", "zai-org/GLM-5", "zai-org/GLM-5-FP8", "glm-5.1"],
    router: TOGGLE,
    template: ENABLE,
  },
  {
    family: "GLM-5.2",
    models: ["zai-org/GLM-5.2"],
    router: "none high high high high max",
    template: "-enable_thinking high high high high max",
  },
  { family: "GLM-5.3", models: ["zai-org/GLM-5.3", "zai-org/GLM-5.3-Flash"], router: "low low low high high max" },
  {
    family: "Kimi that always thinks",
    models: ["moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2.7-Code"],
    router: NOTHING,
  },
  {
    family: "Kimi K2.5 and K2.6",
    models: ["moonshotai/Kimi-K2.5", "moonshotai/Kimi-K2.6"],
    router: TOGGLE,
    template: THINK,
  },
  {
    family: "Kimi K3",
    models: ["moonshotai/Kimi-K3", "moonshotai/Kimi-K3.1-pro"],
    router: "low low low high high max",
  },
  { family: "MiniMax M2", models: ["MiniMaxAI/MiniMax-M2", "MiniMaxAI/MiniMax-M2.5"], router: NOTHING },
  { family: "MiniMax M3", models: ["MiniMaxAI/MiniMax-M3"], router: TOGGLE },
  { family: "MiniMax M3.1-Flash", models: ["MiniMaxAI/MiniMax-M3.1-Flash"], router: "low low low medium high max" },
  { family: "Gemma 4", models: ["google/gemma-4-31B-it", "gemma4:26b"], router: TOGGLE, template: ENABLE },
  {
    family: "Nemotron 3 Super",
    models: ["nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8"],
    router: TOGGLE,
    template: "-enable_thinking +enable_thinking+low_effort +enable_thinking+low_effort " +
      "+enable_thinking +enable_thinking +enable_thinking",
  },
  {
    family: "Nemotron 3",
    models: ["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"],
    router: TOGGLE,
    template: ENABLE,
  },
  {
    family: "Mistral",
    models: ["mistralai/Mistral-Small-4-119B-2603", "mistralai/Mistral-Medium-3.5"],
    router: "none high high high high high",
  },
  { family: "Magistral", models: ["mistralai/Magistral-Small-2509"], router: NOTHING },
  {
    family: "Command A",
    models: ["CohereLabs/command-a-reasoning-08-2025", "CohereLabs/command-a-plus", "CohereLabs/Command-A+"],
    router: "none high high high high high",
  },
  { family: "Step", models: ["stepfun-ai/Step-3.7-Flash"], router: "low low low medium high high" },
  { family: "Hy3", models: ["tencent/Hy3", "tencent/Hy3-preview"], router: "none low low high high high" },
  { family: "MiMo", models: ["XiaomiMiMo/MiMo-V2.5"], router: TOGGLE, template: ENABLE },
  {
    family: "Muse",
    models: ["org/Muse-Glimmer-30B"],
    router: "low low low medium high high",
    template: "=low =low =low =medium =high =high",
  },
  {
    family: "unknown",
    models: [
      "org/model",
      "meta-llama/Llama-3.3-70B-Instruct",
      "deepseek-ai/DeepSeek-V3-0324",
      "zai-org/GLM-4-9B-0414",
      "moonshotai/Kimi-K2-Instruct",
      "mistralai/Mistral-Small-3.2-24B",
      "CohereLabs/c4ai-command-a-03-2025",
    ],
    router: "none minimal low medium high xhigh",
  },
];

function ask(thinking: Thinking | undefined, target: Partial<Target>, alias = "alias") {
  const notes: string[] = [];
  const input = { model: alias, messages: [], stream: false, thinking };
  const fields = thinkingFields(input, { ...TARGET, ...target }, (note) => void notes.push(note));
  return { fields, notes };
}

function inWords({ reasoning_effort, chat_template_kwargs = {} }: JsonObject): string {
  if (reasoning_effort !== undefined) return String(reasoning_effort);
  const variables = Object.entries(chat_template_kwargs as JsonObject).map(([name, value]) =>
    name === "reasoning_strength" ? `=${value}` : `${value ? "+" : "-"}${name}`
  );
  return variables.join("") || "-";
}

for (const { family, models, router, template = router } of TABLE) {
  for (const [dialect, expected] of [["router", router], ["template", template]] as const) {
    Deno.test(`families: ${family}, told by the ${dialect}'s way`, () => {
      for (const model of models) {
        const sent = ASKED.map((effort) => ask({ effort }, { model, dialect }));
        assertEquals(sent.map(({ fields }) => inWords(fields)).join(" "), expected, model);
        // What goes out in no way that was asked for is said.
        for (const [index, { fields, notes }] of sent.entries()) {
          const said = inWords(fields);
          const asked: string = ASKED[index]!;
          const isAsAsked = said === asked || said === `=${asked}` || asked === "none" && /^-./.test(said) ||
            said.endsWith("+low_effort");
          const now = said === "-"
            ? `dropped effort ${asked}`
            : `clamped effort ${asked}>${said.replace(/^=|^\+.*/, (sign) => sign === "=" ? "" : "on")}`;
          assertEquals(notes, isAsAsked ? [] : [now], `${model} ${asked}`);
        }
        // Nothing asked, nothing sent.
        assertEquals(ask(undefined, { model, dialect }), { fields: {}, notes: [] });
        assertEquals(ask({}, { model, dialect }), { fields: {}, notes: [] });
      }
    });
  }
}

/**
 * The fields that each dialect sends for none, low and high, for a family of on and off, one of levels, one of both, and one
 * nobody knows.
 */
const SPELT: [dialect: Quirks["dialect"], model: string, sent: JsonObject[]][] = [
  ["reasoning", "zai-org/GLM-4.6", [
    { reasoning: { enabled: false } },
    { reasoning: { enabled: true } },
    { reasoning: { enabled: true } },
  ]],
  ["reasoning", "openai/gpt-oss-120b", [
    { reasoning_effort: "low" },
    { reasoning_effort: "low" },
    { reasoning_effort: "high" },
  ]],
  ["reasoning", "zai-org/GLM-5.2", [
    { reasoning: { enabled: false } },
    { reasoning_effort: "high" },
    { reasoning_effort: "high" },
  ]],
  ["reasoning-object", "deepseek-ai/DeepSeek-V4-Pro", [
    { reasoning: { enabled: false } },
    { reasoning: { effort: "low" } },
    { reasoning: { effort: "high" } },
  ]],
  ["template-args", "Qwen/Qwen3-32B", [
    { chat_template_args: { enable_thinking: false } },
    { chat_template_args: { enable_thinking: true } },
    { chat_template_args: { enable_thinking: true } },
  ]],
  ["thinking", "MiniMaxAI/MiniMax-M3", [
    { thinking: { type: "disabled" } },
    { thinking: { type: "adaptive" } },
    { thinking: { type: "adaptive" } },
  ]],
  ["thinking", "org/unknown", [
    { thinking: { type: "disabled" } },
    { reasoning_effort: "low" },
    { reasoning_effort: "high" },
  ]],
  ["enable-thinking", "Qwen/Qwen3.6-35B-A3B", [
    { enable_thinking: false },
    { enable_thinking: true },
    { enable_thinking: true },
  ]],
  // Behind a router, the provider that the name is pinned to.
  ["router", "Qwen/Qwen3-32B:together", [
    { reasoning: { enabled: false } },
    { reasoning: { enabled: true } },
    { reasoning: { enabled: true } },
  ]],
  ["router", "zai-org/GLM-4.6:zai-org", [
    { thinking: { type: "disabled" } },
    { thinking: { type: "enabled" } },
    { thinking: { type: "enabled" } },
  ]],
  ["router", "Qwen/Qwen3-32B:fastest", [{ reasoning_effort: "none" }, {}, {}]],
  ["template", "Qwen/Qwen3-32B:together", [
    { chat_template_kwargs: { enable_thinking: false } },
    { chat_template_kwargs: { enable_thinking: true } },
    { chat_template_kwargs: { enable_thinking: true } },
  ]],
];

for (const [dialect, model, sent] of SPELT) {
  Deno.test(`families: ${model} in the dialect ${dialect}`, () => {
    const efforts = ["none", "low", "high"] as const;
    assertEquals(efforts.map((effort) => ask({ effort }, { model, dialect }).fields), sent);
    assertEquals(ask(undefined, { model, dialect }).fields, {});
    for (const field of sent.flatMap(Object.keys)) assert(CONTROLS.includes(field), field);
  });
}

Deno.test("families: without a dialect, as the router takes it", () => {
  assertEquals(ask({ effort: "none" }, { model: "Qwen/Qwen3-32B" }).fields, { reasoning_effort: "none" });
});

Deno.test("families: the client's name for the model tells where the upstream's does not, and not where it does", () => {
  assertEquals(ask({ effort: "none" }, { model: "default" }, "gpt-oss-20b").fields, { reasoning_effort: "low" });
  assertEquals(ask({ effort: "xhigh" }, { model: "moonshotai/Kimi-K3" }, "gpt-oss-20b").fields, {
    reasoning_effort: "max",
  });
});

Deno.test("families: levels that are configured win over the family's, whose way to say none is kept", () => {
  const efforts: Effort[] = ["none", "low", "medium"];
  const target: Partial<Target> = { model: "Qwen/Qwen3.6-35B-A3B", efforts };
  for (const dialect of ["router", "template"] as const) {
    assertEquals(ask({ effort: "medium" }, { ...target, dialect }), {
      fields: { reasoning_effort: "medium" },
      notes: [],
    });
  }
  assertEquals(ask({ effort: "none" }, { ...target, dialect: "template" }).fields, {
    chat_template_kwargs: { enable_thinking: false },
  });
  assertEquals(ask({ effort: "medium" }, { model: "Qwen/Qwen3.8-27B", efforts: ["high", "medium"] }).notes, []);
});

Deno.test("families: a client that switches thinking on without a level has it on, where that can be said", () => {
  const model = "deepseek-ai/DeepSeek-V3.1";
  assertEquals(ask({ enabled: true }, { model, dialect: "template" }), {
    fields: { chat_template_kwargs: { thinking: true } },
    notes: [],
  });
  assertEquals(ask({ enabled: true }, { model }), { fields: {}, notes: [] });
  assertEquals(ask({ enabled: false, effort: "high" }, { model, dialect: "template" }).fields, {
    chat_template_kwargs: { thinking: false },
  });
  assertEquals(ask({ enabled: true, budgetTokens: 20_000 }, { model: "MiniMaxAI/MiniMax-M3.1-Flash" }).fields, {
    reasoning_effort: "high",
  });
});

Deno.test("families: a client's own variables of the template stand beside its effort, and win", () => {
  const send = (chat_template_kwargs: JsonObject) => {
    const context = newContext(CHAT.name);
    const messages = [{ role: "user", content: "a" }];
    const body = { model: "m", messages, reasoning_effort: "none", chat_template_kwargs };
    const input = CHAT.parseRequest(newWireRequest(body), context);
    const target: Target = { ...TARGET, model: "zai-org/GLM-4.6", dialect: "template" };
    return serializeRequest(prepareFor(chatDriver, input, target, context), target, context).chat_template_kwargs;
  };
  assertEquals(send({ style: "short" }), { enable_thinking: false, style: "short" });
  assertEquals(send({ enable_thinking: true }), { enable_thinking: true });
});

/** How servers refuse a control, by what is left out for it. */
const REFUSALS: [body: JsonObject | string, fields: string[]][] = [
  [{ error: { message: "reasoning_effort is not supported with this model" } }, ["reasoning_effort"]],
  [{ detail: [{ loc: ["body", "reasoning_effort"], msg: "Input should be 'low'" }] }, ["reasoning_effort"]],
  [{ error: { message: "Unsupported reasoning effort: high" } }, ["reasoning_effort"]],
  [{ error: '"llama3.2" does not support thinking' }, [...CONTROLS]],
  [{ message: "enable_thinking must be a boolean" }, [...CONTROLS]],
  ["chat_template_kwargs: Extra inputs are not permitted", [...CONTROLS]],
  [{ error: { message: "The `reasoning_content` in the thinking mode must be passed back" } }, []],
  [{ error: { message: "messages: Field required" } }, []],
  ["", []],
];

Deno.test("families: a refusal that names a control says which fields the upstream does without", () => {
  for (const [body, fields] of REFUSALS) {
    for (const status of [400, 422]) {
      const { details } = chatDriver.parseError({ status, headers: new Headers(), body });
      assertEquals(details.unsupported, fields, JSON.stringify(body));
    }
    const { details } = chatDriver.parseError({ status: 500, headers: new Headers(), body });
    assertEquals(details.unsupported, undefined);
  }
});

Deno.test("a host that knows no reasoning of earlier turns is told apart from one that misses it", () => {
  for (
    const [message, refused] of [
      [
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
        true,
      ],
      [
        "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
        true,
      ],
      ["body.messages[1].reasoning_content: Extra inputs are not permitted", true],
      ["Unknown name \"reasoning_details\" at 'messages[1]'", true],
      ["The `reasoning_content` in the thinking mode must be passed back to the API.", false],
      ["thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", false],
      ["Unsupported value: 'reasoning_effort' does not support 'max'", false],
    ] as const
  ) {
    assertEquals(refusesReasoning({ error: { message } }), refused, message);
    assertEquals(refusesReasoning(message), refused, message);
  }
});
