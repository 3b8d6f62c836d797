import { assertEquals } from "@std/assert";
import { isVendors, refusesThinking } from "../../../plugins/messages/families.ts";

Deno.test("the vendor's own models are told from those that were trained on their answers, whoever serves them", () => {
  for (
    const [model, isOwn] of [
      ["claude-opus-4-5", true],
      ["anthropic/claude-sonnet-4.5", true],
      ["us.anthropic.claude-haiku-4-5-v1:0", true],
      ["someone/Qwen3-14B-Claude-4.5-Opus-Distill", false],
      ["openai/gpt-oss-120b", false],
    ] as const
  ) assertEquals(isVendors(model), isOwn, model);
});

Deno.test("a refusal of earlier thoughts is told apart from other refusals that name thinking", () => {
  for (
    const [message, refused] of [
      ["messages.1.content.0: Invalid `signature` in `thinking` block", true],
      ["messages.1.content.0.thinking.signature: Field required", true],
      ["messages.1.content.0: Invalid `data` in `redacted_thinking` block", true],
      ["`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified", true],
      ["capability_rejected: thinking_signature", true],
      ["thinking.type: Input should be 'enabled' or 'disabled'", false],
      ["`max_tokens` must be greater than `thinking.budget_tokens`", false],
      ["Expected `thinking` or `redacted_thinking`, but found `tool_use`", false],
    ] as const
  ) assertEquals(refusesThinking(message), refused, message);
});
