/** HTTP/2 without TLS, by prior knowledge, as proxies speak it: it tells of a client that left, whatever the size of its request. */
import { assertEquals } from "@std/assert";
import { type ClientHttp2Session, connect } from "node:http2";
import { CHAT, chatBody } from "../support/app.ts";
import { ANSWER } from "../support/chat.ts";
import { until } from "../support/wait.ts";
import { testEach, withGateway } from "./gateway.ts";
import { jsonAnswer } from "./tcp.ts";

function post(session: ClientHttp2Session, body: object) {
  const request = session.request({
    ":method": "POST",
    ":path": CHAT,
    "content-type": "application/json",
  });
  request.on("error", () => {}); // it is closed on purpose
  request.end(JSON.stringify(body));
  return request;
}

async function textOf(request: ReturnType<typeof post>): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("utf-8")) text += piece;
  return text;
}

for (const kilobytes of [0, 64, 1_024, 8_192]) {
  testEach(
    `over HTTP/2 a client that leaves stops the upstream of a whole answer: a body of ${kilobytes} kB`,
    async () => {
      await withGateway(async ({ app, url, upstream }) => {
        const session = connect(url);
        try {
          const user = "x".repeat(kilobytes * 1_024);
          const leaving = post(
            session,
            chatBody({ messages: [{ role: "user", content: user }] }),
          );
          const asked = await upstream.next();
          leaving.close(8); // CANCEL
          await asked.left;
          await until(() => app.logs.length > 0);
          assertEquals(app.logs[0]!.status, 499);

          const next = textOf(post(session, chatBody()));
          await (await upstream.next()).write(jsonAnswer(ANSWER));
          assertEquals(JSON.parse(await next).object, "chat.completion");
        } finally {
          session.destroy();
        }
      });
    },
  );
}
