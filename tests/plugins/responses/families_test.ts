import { assertEquals } from "@std/assert";
import { refusesReasoning } from "../../../plugins/responses/families.ts";

Deno.test("a refusal of earlier reasoning is told apart from other refusals that name reasoning", () => {
  for (
    const [message, refused] of [
      ["The encrypted content gAAA... could not be verified.", true],
      ["Invalid value for 'input[1].encrypted_content'", true],
      ["Item 'rs_1' of type 'reasoning' was provided without its required following item.", true],
      ["Unsupported parameter: 'reasoning.effort' is not supported with this model.", false],
      ["Encrypted content is not supported with this model.", false],
    ] as const
  ) assertEquals(refusesReasoning(message), refused, message);
});
