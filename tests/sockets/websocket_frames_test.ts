import { FRAMES_TESTS, runFramesTest } from "./websocket_frames.ts";
import { withGateway } from "./gateway.ts";

for (const one of FRAMES_TESTS) {
  Deno.test(`websocket: ${one.name}`, () =>
    withGateway(async ({ app, server, upstream }) => {
      await runFramesTest(one, (server.addr as Deno.NetAddr).port, { logs: app.logs, upstream });
      await app.settled();
    }, { limits: one.limits }));
}
