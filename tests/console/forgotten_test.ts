/** A recorded request that is forgotten while somebody looks at it. */
import { assert } from "@std/assert";
import { CHAT, chatBody, CONFIG, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";

Deno.test("record: no secret of a client shows, whenever its request is forgotten while it is read again", async () => {
  const secret = "tools-own-secret";
  const app = newApp({
    config: { ...CONFIG, console: { record: { requests: 1 } } },
    fetch: () => Promise.resolve(answerWhole()),
  });
  const mcp = { type: "url", name: "s", url: "http://mcp.test", authorization_token: secret };
  const body = { ...chatBody({ max_tokens: 9 }), mcp_servers: [mcp] };
  for (let turns = 0; turns < 25; turns++) {
    await (await app.post("/oss/v1/messages", body)).text();
    const { data: [{ id }] } = await (await app.get("/console/api/records")).json();
    const understood = app.get(`/console/api/record/understood?id=${id}`);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    await (await app.post(CHAT, chatBody())).text(); // which takes the only place
    const text = await (await understood).text();
    assert(!text.includes(secret), `Forgotten after ${turns} turns: ${text}`);
  }
});
