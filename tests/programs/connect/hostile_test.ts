/** The command `connect` among gateways, files and receipts that are not what they should be. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { withoutKey } from "../../../src/programs/connect/mask.ts";
import { UsageError } from "../../../src/programs/program.ts";
import { filesBelow, KEY, LANE, WITH_KEYS, withDesk } from "./desk.ts";

/** In front of the gateway, which it asks for all that it does not answer itself. */
async function withProxy(
  url: string,
  own: (path: string) => Response | undefined,
  use: (url: string) => Promise<void>,
) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url: asked, headers }) => {
    const { pathname } = new URL(asked);
    return own(pathname) ?? await fetch(`${url}${pathname}`, { headers });
  });
  try {
    await use(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

/** Never ends. */
function endless(): Response {
  const piece = new TextEncoder().encode("x".repeat(65_536));
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }));
}

Deno.test("connect: whatever a gateway answers to the proof, a proof that fails takes the change back", () =>
  withDesk(LANE, async ({ home, url, run }) => {
    const before = filesBelow(home);
    const answers = [() => new Response("<html>"), () => Response.json([1]), () => new Response(null), endless];
    for (const answer of answers) {
      await withProxy(url, (path) => path.endsWith("/completions") ? answer() : undefined, async (proxy) => {
        const { code, text } = await run(["zed", "--model", "small", "--yes"], { url: proxy });
        assertEquals(code, 1, text);
        assertStringIncludes(text, "The test failed; the change was undone");
      });
      assertEquals(filesBelow(home), before);
    }
  }));

Deno.test("connect: what a gateway says of a proof that failed steers no terminal, and holds no part of the key", () =>
  withDesk(WITH_KEYS, async ({ url, run }) => {
    const wrong = () => new Response(`\u001b[2J${"x".repeat(285)}${KEY}`, { status: 400 });
    await withProxy(url, (path) => path.endsWith("/completions") ? wrong() : undefined, async (proxy) => {
      const { text } = await run(["zed", "--model", "small", "--yes", "--key-env", "K"], {
        url: proxy,
        env: { K: KEY },
      });
      assertStringIncludes(text, "was answered with 400:  [2Jxxx");
      assert(!text.includes("\u001b"));
      assert(!text.includes(KEY.slice(0, 5)), text);
    });
  }));

Deno.test("connect: an address that answers for ever is no gateway's, and names that would move the cursor are no models", () =>
  withDesk(LANE, async ({ url, run }) => {
    await withProxy(url, (path) => path === "/oss/v1/models" ? endless() : undefined, async (proxy) => {
      const { code, text } = await run(["zed", "--yes"], { url: proxy });
      assertEquals(code, 1);
      assertStringIncludes(text, "did not list its models");
    });
    const data = ["\u001b[2Jsmall", "a\nb", 7].map((id) => ({ id, task: "chat" }));
    await withProxy(url, (path) => path === "/oss/v1/models" ? Response.json({ data }) : undefined, async (proxy) => {
      assertStringIncludes((await run(["zed", "--yes"], { url: proxy })).text, "lists no chat model");
    });
    await assertRejects(() => run(["zed", "--model", "a\nb"]), UsageError, "line break");
    await assertRejects(() => run(["zed", "--lane", "../admin"]), UsageError, "no name of a lane");
  }));

Deno.test("connect: what a client writes while the user reads the change, or during the proof, is not lost", () =>
  withDesk(LANE, async ({ home, run, settings, read }) => {
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(settings, '{\n  "theme": "dark"\n}\n');
    const answers = {
      shift() {
        Deno.writeTextFileSync(settings, '{\n  "theme": "light"\n}\n');
        return "y";
      },
    };
    const raced = await run(["claude-code", "--model", "small"], { answers: answers as unknown as string[] });
    assertEquals(raced.code, 1);
    assertStringIncludes(raced.text, "something else has written to");
    assertEquals(read(), '{\n  "theme": "light"\n}\n');
    assertEquals((await run(["claude-code", "--undo", "--yes"])).code, 1, "No receipt stays");
    const other = `const path = ${JSON.stringify(settings)};
      Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replace("light", "dim")); Deno.exit(1);`;
    await Deno.writeTextFile(`${home}/client.js`, other);
    assertEquals((await run(["claude-code", "--model", "small", "--yes"])).code, 1);
    assertEquals(read(), '{\n  "theme": "dim"\n}\n');
  }));

Deno.test("connect: where a file cannot be written, no receipt stays", () =>
  withDesk(LANE, async ({ home, run, settings }) => {
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(`${settings}.laneway-new`, "of another command");
    const { code, text } = await run(["claude-code", "--model", "small", "--yes"]);
    assertEquals(code, 1);
    assertStringIncludes(text, "Another command is writing");
    assertEquals(await Deno.readTextFile(`${settings}.laneway-new`), "of another command");
    assert(!/connected/.test((await run(["--list"])).text));
    await Deno.utime(`${settings}.laneway-new`, 0, 0);
    assertEquals(
      (await run(["claude-code", "--model", "small", "--yes"])).code,
      0,
      "One that was left is no hindrance",
    );
  }));

Deno.test("connect: no secret of the file is shown, and the key in no form", () =>
  withDesk(WITH_KEYS, async ({ home, run, settings }) => {
    const old = {
      env: { ANTHROPIC_AUTH_TOKEN: "sk-old-hidden", OTHER_API_KEY: "sk-other-hidden", A: "1" },
      apiKeyHelper: "x",
    };
    await Deno.mkdir(`${home}/.claude`);
    await Deno.writeTextFile(settings, JSON.stringify(old, null, 2));
    const { text } = await run(["claude-code", "--model", "small", "--key", "-", "--print"], { input: KEY });
    assertStringIncludes(text, '"ANTHROPIC_AUTH_TOKEN": "***"');
    assertStringIncludes(text, '"OTHER_API_KEY": "***"');
    assert(!/hidden|of-this-test/.test(text), text);
    await Deno.writeTextFile(settings, JSON.stringify(old));
    const short = await run(["claude-code", "--model", "small", "--key-env", "MINE", "--print"], {
      env: { MINE: KEY },
    });
    assertStringIncludes(short.text, "printenv MINE");
    assert(!/hidden/.test(short.text), short.text);
    for (const key of [`a"b\\c-4711`, "it's-4711"]) {
      assert(!/4711/.test(withoutKey(`${JSON.stringify(key)} '${key.replaceAll("'", "'\\''")}'`, key)), key);
    }
  }));

Deno.test("connect: a receipt that is broken, or names a file that is none of the client's, is not followed", () =>
  withDesk(LANE, async ({ home, run }) => {
    const path = `${home}/.local/share/laneway/connect/claude-code.json`;
    assertEquals((await run(["claude-code", "--model", "small", "--yes"])).code, 0);
    const receipt = JSON.parse(await Deno.readTextFile(path));
    const other = `${home}/authorized_keys`;
    await Deno.writeTextFile(other, "mine");
    const [file] = receipt.files;
    const forged = (fields: object) => JSON.stringify({ ...receipt, files: [{ ...file, ...fields }] });
    for (
      const [text, message] of [
        [forged({ path: other, before: "theirs", after: "mine" }), "names"],
        [forged({ path: other, before: undefined, after: "mine" }), "names"],
        [forged({ format: "__proto__" }), "damaged"],
        [forged({ folders: [1] }), "damaged"],
        [forged({ after: 1 }), "damaged"],
        ['{"version":1,"client":"claude-code","files":[null]}', "damaged"],
        ["{", "damaged"],
      ] as const
    ) {
      await Deno.writeTextFile(path, text);
      const { code, text: printed } = await run(["claude-code", "--undo", "--yes"]);
      assertEquals(code, 1, text);
      assertStringIncludes(printed, message);
      assertEquals(await Deno.readTextFile(other), "mine");
      assertMatch((await run(["--list"])).text, /claude-code +connected/);
    }
    await Deno.writeTextFile(path, JSON.stringify(receipt));
    assertEquals((await run(["claude-code", "--undo", "--yes"])).code, 0);
  }));
