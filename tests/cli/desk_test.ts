import { assertEquals, assertMatch } from "@std/assert";
import { type Admitted, type Desk, openDesk } from "../../src/cli/desk.ts";
import { DESK_TOKEN } from "../../src/config/permissions.ts";
import { within } from "../support/wait.ts";

interface Rig {
  desk: Desk;
  gateway: Admitted;
  said: string[];
  restarted: number[];
  /** Writes the text, and returns all that comes back until the desk closes. */
  send(text: string): Promise<string>;
  ask(question: object): Promise<Record<string, unknown>[]>;
}

async function withDesk(use: (rig: Rig) => Promise<void>): Promise<void> {
  const said: string[] = [];
  const restarted: number[] = [];
  const desk = await openDesk({
    launcher: "file:///nowhere.ts",
    say: (text) => said.push(text),
    place: () => ({ options: [], url: "http://127.0.0.1:1" }),
    restart(port) {
      restarted.push(port);
      return Promise.resolve(port === 1 ? "it cannot" : undefined);
    },
  });
  const gateway = desk.admit();
  const send = async (text: string) => {
    const [hostname = "", port] = desk.address.split(":");
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const writer = connection.writable.getWriter();
    // The desk may close before it has read everything.
    writer.write(new TextEncoder().encode(text)).catch(() => {});
    try {
      return await within(new Response(connection.readable).text());
    } catch {
      return "";
    }
  };
  const ask = async (question: object) => {
    const text = await send(`${JSON.stringify({ token: gateway.token, ...question })}\n`);
    return text.trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  };
  try {
    await use({ desk, gateway, said, restarted, send, ask });
  } finally {
    desk.close();
  }
}

Deno.test("desk: whoever has no token gets no answer, whatever is sent", async () => {
  await withDesk(async ({ desk, gateway, send, ask }) => {
    const token = gateway.variables[DESK_TOKEN]!;
    const questions = [
      "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
      "\n",
      "null\n",
      "[]\n",
      '{"ask":"state"}\n',
      `{"token":"${token.slice(1)}","ask":"state"}\n`,
      `{"token":["${token}", 1],"ask":"state"}\n`,
      "x".repeat(3 * 2 ** 20),
    ];
    for (const question of questions) assertEquals(await send(question), "", question.slice(0, 80));
    assertEquals(await ask({ ask: "state" }), [{ ok: true }, {
      needsCode: false,
      isOpen: true,
      folder: Deno.cwd(),
    }]);
    gateway.dismiss();
    assertEquals(await ask({ ask: "state" }), [], "The token ends with its gateway");
    assertEquals(desk.admit().token === token, false);
  });
});

Deno.test("desk: while codes are needed, only a session may run and restart; keys take their place", async () => {
  await withDesk(async ({ desk, said, restarted, ask }) => {
    assertEquals((await ask({ ask: "open", code: "x" }))[0]!.code, "invalid_request");
    desk.setNeedsCode(true);
    const [, code] = /code ([A-Z0-9-]{9}) at /.exec(said[0]!)!;
    for (const question of [{ ask: "restart", port: 8000 }, { ask: "run", task: { do: "find" } }, { ask: "nothing" }]) {
      assertEquals((await ask(question))[0]!.code, "permission");
      assertEquals((await ask({ ...question, session: "" }))[0]!.code, "permission");
    }
    const [, opened] = await ask({ ask: "open", code });
    const session = opened!.session;
    assertEquals(await ask({ ask: "state", session }), [{ ok: true }, {
      needsCode: true,
      isOpen: true,
      folder: Deno.cwd(),
    }]);
    assertEquals(await ask({ ask: "restart", port: 8000, session }), [{ ok: true }, { outcome: "restarted" }]);
    assertEquals(await ask({ ask: "restart", port: 1, session }), [{ ok: true }, {
      outcome: "failed",
      reason: "it cannot",
    }]);
    for (const port of [0, -1, 65_536, 1.5, "8000", null]) {
      assertEquals((await ask({ ask: "restart", port, session }))[0]!.code, "invalid_request");
    }
    assertEquals((await ask({ ask: "run", task: { do: "keys" }, session }))[0]!.code, "invalid_request");
    const [failed] = await ask({ ask: "run", task: { do: "find" }, session });
    assertEquals(failed!.code, "unavailable");
    assertMatch(String(failed!.reason), /nowhere\.ts/);
    desk.setNeedsCode(false);
    assertEquals(await ask({ ask: "restart", port: 9000 }), [{ ok: true }, { outcome: "restarted" }]);
    assertEquals(restarted, [8000, 1, 9000]);
    assertEquals(said.length, 2, "One code at the start, and one for the next page");
  });
});

Deno.test("desk: a gateway tells that it serves, or why it cannot", async () => {
  await withDesk(async ({ desk, gateway, ask }) => {
    assertEquals(await ask({ ask: "started" }), [{ ok: true }, {}]);
    assertEquals(await gateway.started, undefined);
    const other = desk.admit();
    await ask({ token: other.token, ask: "started", failure: "no" });
    assertEquals(await other.started, "no");
  });
});
