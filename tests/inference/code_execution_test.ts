/** Code that models write, which the gateway runs in containers, in the forms of both vendors. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import type { JsonObject } from "../../src/canonical/json.ts";
import { TOOL_CALLS, withCode } from "../support/code_rig.ts";

const CODE = "print(6 * 7)";
const CALL = `code_execution${JSON.stringify({ code: CODE })}`;
const ASK = "What is 6 * 7?";

function anthropic(fetch: typeof globalThis.fetch, apiKey = "team-key-a1b2c3"): Anthropic {
  return new Anthropic({ apiKey, baseURL: "http://gateway/oss", maxRetries: 0, fetch });
}

function openai(fetch: typeof globalThis.fetch, apiKey = "team-key-a1b2c3"): OpenAI {
  return new OpenAI({ apiKey, baseURL: "http://gateway/oss/v1", maxRetries: 0, fetch });
}

const MESSAGES = {
  model: "model",
  max_tokens: 500,
  messages: [{ role: "user" as const, content: ASK }],
  tools: [{ type: "code_execution_20250825" as const, name: "code_execution" as const }],
};
const RESPONSES = {
  model: "model",
  input: ASK,
  tools: [{ type: "code_interpreter" as const, container: { type: "auto" as const } }],
};

for (const isStreamed of [false, true]) {
  const how = isStreamed ? "streamed" : "whole";
  Deno.test(`code execution: a client of Messages gets the call, its output and the container, ${how}`, async () => {
    await withCode({ rounds: [["(so)", CALL], ["It is 42."]] }, async ({ fetch, ran, asked }) => {
      const client = anthropic(fetch);
      const message = isStreamed
        ? await client.messages.stream(MESSAGES).finalMessage()
        : await client.messages.create(MESSAGES);
      const [, call, result, text] = message.content as unknown as JsonObject[];
      assertEquals([call!.type, call!.name, call!.input], ["server_tool_use", "code_execution", { code: CODE }]);
      assertEquals([result!.type, result!.tool_use_id], ["code_execution_tool_result", call!.id]);
      assertEquals(result!.content, {
        type: "code_execution_result",
        stdout: "42\n",
        stderr: "",
        return_code: 0,
        content: [],
      });
      assertEquals(text!.text, "It is 42.");
      const { container } = message as unknown as { container: JsonObject };
      assertMatch(String(container.id), /^container_[\w-]{16,}$/);
      assert(Date.parse(String(container.expires_at)) > 0);
      assertEquals((message.usage.server_tool_use as unknown as JsonObject).code_execution_requests, 1);
      assertEquals(ran.map(({ code, isNew }) => [code, isNew]), [[CODE, true]]);
      // The model saw a function, and its result as a turn of a tool.
      assertEquals((asked[0]!.body.tools as JsonObject[]).map((tool) => (tool.function as JsonObject).name), [
        "code_execution",
      ]);
      assertStringIncludes(JSON.stringify(asked[1]!.body.messages), "42\\n");
    });
  });

  Deno.test(`code execution: a client of Responses gets the item of the interpreter, ${how}`, async () => {
    await withCode({ rounds: [["(so)", CALL], ["It is 42."]] }, async ({ fetch, ran }) => {
      const client = openai(fetch);
      const types: string[] = [];
      const collect = async () => {
        const stream = client.responses.stream(RESPONSES);
        for await (const event of stream) types.push(event.type);
        return await stream.finalResponse();
      };
      const response = isStreamed ? await collect() : await client.responses.create(RESPONSES);
      const item = response.output.find(({ type }) => type === "code_interpreter_call") as unknown as JsonObject;
      assertMatch(String(item.container_id), /^cntr_[\w-]{16,}$/);
      assertEquals(item, {
        id: item.id!,
        type: "code_interpreter_call",
        status: "completed",
        code: CODE,
        container_id: ran[0]!.container,
        outputs: [{ type: "logs", logs: "42\n" }],
      });
      assertEquals(response.output_text, "It is 42.");
      if (!isStreamed) return;
      const own = types.filter((type) => type.includes("code_interpreter"));
      const prefix = "response.code_interpreter_call";
      assertEquals(own, [
        `${prefix}.in_progress`,
        `${prefix}_code.delta`,
        `${prefix}_code.done`,
        `${prefix}.interpreting`,
        `${prefix}.completed`,
      ]);
    });
  });
}

Deno.test("code execution: the next request goes on in the container that it names, and in no other's", async () => {
  await withCode(
    { rounds: [[CALL], ["42"], [CALL], ["42"], [CALL], ["42"]] },
    async ({ fetch, ran, forget, asked }) => {
      const client = anthropic(fetch);
      const first = await client.messages.create(MESSAGES);
      const { id } = (first as unknown as { container: { id: string } }).container;
      const messages = [...MESSAGES.messages, { role: "assistant", content: first.content }, {
        role: "user",
        content: "?",
      }];
      const next = { ...MESSAGES, messages, container: id } as unknown as typeof MESSAGES;
      const second = await client.messages.create(next);
      assertEquals((second as unknown as { container: { id: string } }).container.id, id);
      assertEquals(ran.map(({ container, isNew }) => [container, isNew]), [[id, true], [id, false]]);
      const before = asked.length;
      const failure = async (container: string, key?: string) => {
        const request = anthropic(fetch, key).messages.create({ ...next, container } as unknown as typeof MESSAGES);
        return await request.then(() => undefined, (thrown) => [thrown.status, thrown.error.error]);
      };
      const expired = { type: "invalid_request_error", message: "Container is expired." };
      const withoutDetails = (found: unknown) => {
        const [status, { type, message }] = found as [number, { type: string; message: string }];
        return [status, { type, message }];
      };
      // Another key's, a guessed one, and one of another gateway are answered alike.
      assertEquals(withoutDetails(await failure(id, "guest-key-d4e5f6")), [400, expired]);
      assertEquals(withoutDetails(await failure(`container_${crypto.randomUUID()}`)), [400, expired]);
      assertEquals(withoutDetails(await failure("container_1"))[0], 404);
      forget();
      assertEquals(withoutDetails(await failure(id)), [400, expired]);
      // No model was asked.
      assertEquals(asked.length, before);
    },
  );
});

Deno.test("code execution: an automatic container is that of the conversation's last call; a lost one is said", async () => {
  await withCode({ rounds: [[CALL], ["42"], [CALL], ["42"], [CALL], ["42"]] }, async ({ fetch, ran, forget, app }) => {
    const client = openai(fetch);
    const first = await client.responses.create(RESPONSES);
    const follow = { ...RESPONSES, previous_response_id: first.id, input: "And again?" };
    const second = await client.responses.create(follow);
    assertEquals(ran[1]!.container, ran[0]!.container);
    forget();
    const headers = { authorization: "Bearer team-key-a1b2c3" };
    const body = { ...follow, previous_response_id: second.id };
    const third = await app.post("/oss/v1/responses", body as unknown as JsonObject, headers);
    assertStringIncludes(third.headers.get("x-laneway-notes")!, "container of earlier code has expired");
    await third.body?.cancel();
    assert(ran[2]!.isNew && ran[2]!.container !== ran[0]!.container);
    const named = { ...RESPONSES, tools: [{ type: "code_interpreter", container: ran[0]!.container }] };
    const failed = await app.post("/oss/v1/responses", named as unknown as JsonObject, headers);
    assertEquals(failed.status, 400);
    assertEquals((await failed.json()).error.message, "Container is expired.");
  });
});

Deno.test("code execution: files that a later response names go into the container of the conversation", async () => {
  await withCode({ rounds: [[CALL], ["42"], [CALL], ["42"]] }, async ({ fetch, ran, asked }) => {
    const client = openai(fetch);
    const upload = async (name: string) =>
      (await client.files.create({ file: new File([name], name), purpose: "user_data" })).id;
    const withFiles = (file_ids: string[]) => ({
      ...RESPONSES,
      tools: [{ type: "code_interpreter" as const, container: { type: "auto" as const, file_ids } }],
    });
    const one = await upload("one");
    const { id } = await client.responses.create(withFiles([one]));
    const next = { ...withFiles([one, await upload("two")]), previous_response_id: id };
    await client.responses.create(next);
    assertEquals(ran.map(({ isNew, onlyMissing, files }) => [isNew, onlyMissing, files.map(({ name }) => name)]), [
      [true, false, ["one"]],
      [false, true, ["one", "two"]],
    ]);
    assertStringIncludes(JSON.stringify(asked[2]!.body.tools), "/mnt/data/one, /mnt/data/two");
  });
});

Deno.test("code execution: files go in by their ids, and what code makes can be downloaded by its key alone", async () => {
  await withCode({ rounds: [[CALL], ["done"], [CALL], ["done"]] }, async ({ fetch, ran, make, app, asked }) => {
    const client = anthropic(fetch);
    const uploaded = await client.beta.files.upload({ file: new File(["a,b\n1,2\n"], "../in.csv") });
    make("chart.svg", "<svg/>");
    const content = [{ type: "text", text: ASK }, { type: "container_upload", file_id: uploaded.id }];
    const answer = await client.beta.messages.create(
      {
        ...MESSAGES,
        messages: [{ role: "user", content }],
      } as unknown as Parameters<typeof client.beta.messages.create>[0] & { stream?: false },
    );
    assertEquals(ran[0]!.files, [{ name: ".._in.csv", data: btoa("a,b\n1,2\n") }]);
    const [tool] = asked[0]!.body.tools as { function: JsonObject }[];
    assertStringIncludes(String(tool!.function.description), "/mnt/data/.._in.csv");
    const result = answer.content.find(({ type }) => type === "code_execution_tool_result") as unknown as {
      content: { content: { file_id: string }[] };
    };
    const [{ file_id }] = result.content.content as [{ file_id: string }];
    const facts = await client.beta.files.retrieveMetadata(file_id);
    assertEquals([facts.filename, facts.downloadable], ["chart.svg", true]);
    assertEquals(await (await client.beta.files.download(file_id)).text(), "<svg/>");
    const uploadedAgain = await client.beta.files.download(uploaded.id).then(() => "ok", (thrown) => thrown.status);
    assertEquals(uploadedAgain, 400);
    const other = anthropic(fetch, "guest-key-d4e5f6").beta.files.download(file_id);
    assertEquals(await other.then(() => "ok", (thrown) => thrown.status), 404);
    const missing = {
      ...RESPONSES,
      tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: ["file-x"] } }],
    };
    const refused = await app.post("/oss/v1/responses", missing as unknown as JsonObject, {
      authorization: "Bearer team-key-a1b2c3",
    });
    assertEquals([refused.status, (await refused.json()).error.message], [400, "File with id 'file-x' not found"]);
  });
});

/** A request of Messages with a file of the user's. */
async function withUpload(client: Anthropic, text: string) {
  const { id } = await client.beta.files.upload({ file: new File([text], "in.csv") });
  const content = [{ type: "text", text: ASK }, { type: "container_upload", file_id: id }];
  return { ...MESSAGES, messages: [{ role: "user", content }] } as unknown as typeof MESSAGES;
}

Deno.test("code execution: calls of one round run in their order, and the first has the files", async () => {
  const calls = ["1", "2", "3"].map((code) => `code_execution${JSON.stringify({ code })}`);
  await withCode({ rounds: [calls, ["done"]] }, async ({ fetch, ran }) => {
    const client = anthropic(fetch);
    await client.messages.create(await withUpload(client, "a,b"));
    assertEquals(ran.map(({ code, files }) => [code, files.length]), [["1", 1], ["2", 0], ["3", 0]]);
  });
});

Deno.test("code execution: code that did not run leaves the files to the next", async () => {
  await withCode({ rounds: [[CALL], [CALL], ["done"]], failure: "too_many_requests" }, async ({ fetch, ran }) => {
    const client = anthropic(fetch);
    await client.messages.create(await withUpload(client, "a,b"));
    assertEquals(ran.map(({ files }) => files.map(({ data }) => atob(data))), [["a,b"], ["a,b"]]);
  });
});

Deno.test("code execution: files that are too large for it are refused before any model is asked", async () => {
  const hostedTools = { codeExecution: { fileBytes: 1_024 } };
  await withCode({ rounds: [], config: { hostedTools } }, async ({ fetch, asked }) => {
    const client = anthropic(fetch);
    const request = client.messages.create(await withUpload(client, "x".repeat(1_025)));
    assertEquals(await request.then(() => 200, (thrown) => thrown.status), 413);
    assertEquals(asked, []);
  });
});

Deno.test("code execution: what goes wrong is a result in the vendor's words, and the model goes on", async () => {
  const codes = {
    too_many_requests: "too_many_requests",
    late: "execution_time_exceeded",
    expired: "container_expired",
    failed: "container_expired",
    nonsense: "unavailable",
  };
  for (const [error, code] of Object.entries(codes)) {
    await withCode({ rounds: [[CALL], ["Sorry."]], failure: error }, async ({ fetch }) => {
      const { content } = await anthropic(fetch).messages.create(MESSAGES);
      const [, result, text] = content as unknown as JsonObject[];
      assertEquals(result!.content, { type: "code_execution_tool_result_error", error_code: code });
      assertEquals(text!.text, "Sorry.");
    });
  }
  await withCode({ rounds: [[`code_execution{"cod":1}`], ["Sorry."]] }, async ({ fetch, ran }) => {
    const { content } = await anthropic(fetch).messages.create(MESSAGES);
    assertEquals((content[1] as unknown as JsonObject).content, {
      type: "code_execution_tool_result_error",
      error_code: "invalid_tool_input",
    });
    assertEquals(ran, []);
  });
});

Deno.test("code execution: a request without the tool asks no interpreter, and one without a configuration is told", async () => {
  await withCode({ rounds: [["hello"]] }, async ({ fetch, calls }) => {
    const { tools: _, ...plain } = MESSAGES;
    await anthropic(fetch).messages.create(plain);
    assertEquals(calls(), 0);
  });
  await withCode({ rounds: [["hello"]], isOff: true }, async ({ fetch }) => {
    const { content } = await anthropic(fetch).messages.create(MESSAGES);
    assertStringIncludes(JSON.stringify(content), "unavailable");
  });
});

Deno.test("code execution: a call of the client's own function beside it ends the turn as usual", async () => {
  await withCode({ rounds: [[CALL, `mine{"a":1}`]] }, async ({ fetch }) => {
    const tools = [...MESSAGES.tools, { name: "mine", input_schema: { type: "object" as const } }];
    const { content, stop_reason } = await anthropic(fetch).messages.create({ ...MESSAGES, tools });
    assertEquals(content.map(({ type }) => type as string), TOOL_CALLS);
    assertEquals(stop_reason, "tool_use");
  });
});

for (const isStreamed of [false, true]) {
  Deno.test(`code execution: Responses cites a made file where its name stands, ${isStreamed ? "streamed" : "whole"}`, async () => {
    const text = "😀 See [it](sandbox:/mnt/data/a.txt).";
    await withCode({ rounds: [[CALL], [text]] }, async ({ fetch, make, ran }) => {
      make("a.txt", "hello");
      const client = openai(fetch);
      const response = isStreamed
        ? await client.responses.stream(RESPONSES).finalResponse()
        : await client.responses.create(RESPONSES);
      const message = response.output.find(({ type }) => type === "message") as unknown as {
        content: { annotations: { file_id: string; start_index: number; end_index: number }[] }[];
      };
      const [citation] = message.content[0]!.annotations;
      assertEquals(
        { ...citation, file_id: "" },
        {
          type: "container_file_citation",
          container_id: ran[0]!.container,
          file_id: "",
          filename: "a.txt",
          start_index: 11,
          end_index: 34,
        } as unknown as typeof citation,
      );
      assertEquals([...text].slice(citation!.start_index, citation!.end_index).join(""), "sandbox:/mnt/data/a.txt");
      assertEquals(await (await client.files.content(citation!.file_id)).text(), "hello");
    });
  });
}

Deno.test("code execution: a key that may not run code is refused before any model is asked", async () => {
  const config = { hostedTools: { codeExecution: { keys: ["te*"] } } };
  await withCode({ rounds: [[CALL], ["42"]], config }, async ({ fetch, ran, asked }) => {
    const refused = anthropic(fetch, "guest-key-d4e5f6").messages.create(MESSAGES);
    assertEquals(await refused.then(() => "ok", (thrown) => [thrown.status, thrown.error.error.type]), [
      403,
      "permission_error",
    ]);
    assertEquals(asked, []);
    await anthropic(fetch).messages.create(MESSAGES);
    assertEquals(ran.length, 1);
  });
});
