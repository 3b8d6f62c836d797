import { assertEquals } from "@std/assert";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { CONFIG, PATH, WIRES } from "../../regressions/support.ts";
import { newApp } from "../../support/app.ts";

for (const upstream of WIRES) {
  for (const thread of [{ type: "create" }, { type: "continue", previous_message_id: "msg_1" }]) {
    Deno.test(`thread: a request with the new turn alone is refused by the code that clients know (${thread.type}, ${upstream})`, async () => {
      const fake = fakeUpstream(() => new Response());
      const app = newApp({ config: CONFIG, fetch: fake.fetch });
      const body = { model: upstream, max_tokens: 9, messages: [{ role: "user", content: "And then?" }], thread };
      for (const path of [PATH.messages, `${PATH.messages}/count_tokens`]) {
        const response = await app.post(path, body, { "anthropic-beta": "message-threads-2026-08-12" });
        const { error } = await response.json();
        assertEquals([response.status, error.type], [400, "invalid_request_error"]);
        assertEquals(error.details, { error_code: "thread_unsupported_request" });
      }
      assertEquals(fake.asked.length, 0);
    });
  }
}
