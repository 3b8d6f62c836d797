import { assertEquals } from "@std/assert";
import { Channel } from "../../src/operations/channel.ts";

Deno.test("channel: what is closed while its connection is being made is closed once that is there", () => {
  for (const state of [WebSocket.CONNECTING, WebSocket.OPEN]) {
    const closed: unknown[] = [];
    const socket = {
      readyState: state as number,
      close: (...why: unknown[]) => closed.push(why),
    } as unknown as WebSocket;
    const log: string[] = [];
    const channel = new Channel(socket, {
      sendStallMs: 1_000,
      onMessage: () => log.push("message"),
      onEnd: () => log.push("end"),
      onLinger: () => log.push("linger"),
      onClosed: () => log.push("closed"),
    });
    channel.close(1000, "Too old");
    assertEquals([closed.length, log], [state === WebSocket.OPEN ? 1 : 0, ["end"]]);
    socket.onopen?.(new Event("open"));
    assertEquals(closed, [[1000, "Too old"]]);
    socket.onmessage!(new MessageEvent("message", { data: "late" }));
    socket.onclose!(new CloseEvent("close"));
    assertEquals(log, ["end", "closed"]);
  }
});
