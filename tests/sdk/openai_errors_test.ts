import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { catalogs, drivers, protocols } from "../../plugins/mod.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../src/errors.ts";
import { CONFIG, type ConfigInput } from "../support/app.ts";
import { answerStream, answerWhole, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { MAJORS, newClient, type OpenAI } from "./chat_clients.ts";
import { newResponsesApp } from "./responses_clients.ts";

interface Request {
  model: string;
  stream?: boolean;
}

/** The two wires that the SDK speaks: the smallest request, the text of the answer, and a field that cannot be served. */
const WIRES = {
  chat: {
    ask: (client: OpenAI, request: Request) => client.chat.completions.create({ ...request, messages: HELLO }),
    text: async (client: OpenAI, model: string) =>
      (await client.chat.completions.create({ model, messages: HELLO })).choices[0]!.message.content!,
    wrong: ["n", (client: OpenAI) => client.chat.completions.create({ model: "sandbox", messages: HELLO, n: 2 })],
  },
  responses: {
    ask: (client: OpenAI, request: Request) => client.responses.create({ ...request, input: "Hello" }),
    text: async (client: OpenAI, model: string) =>
      (await client.responses.create({ model, input: "Hello" })).output_text,
    wrong: ["prompt", (client: OpenAI) => client.responses.create({ model: "sandbox", prompt: { id: "pmpt_1" } })],
  },
} as const;

const HELLO: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hello" }];

/** An upstream that fails as the model is called. */
const failing: Driver = {
  name: "failing",
  wire: "failing",
  operations: {
    generate: {
      local(_, { model }) {
        const details = { param: "model", retryAfter: "7", retryable: false };
        throw new GatewayError(model as ErrorCode, `It failed: ${model}`, details);
      },
    },
  },
  parseError: () => {
    throw new Error("It makes no call");
  },
};

const FAILING: ConfigInput = {
  upstreams: { failing: { driver: "failing" } },
  lanes: { oss: { upstreams: { chat: "failing" } } },
};

type ErrorName = keyof typeof OpenAI & `${string}Error`;

/** What the SDK raises for each code, and the word that it shows as `code`. */
const RAISED: Record<ErrorCode, [name: ErrorName, code: string | null]> = {
  invalid_request: ["BadRequestError", null],
  context_length_exceeded: ["BadRequestError", "context_length_exceeded"],
  previous_response_not_found: ["BadRequestError", "previous_response_not_found"],
  authentication: ["AuthenticationError", "invalid_api_key"],
  billing: ["APIError", "insufficient_quota"],
  budget_exceeded: ["APIError", "budget_exceeded"],
  permission: ["PermissionDeniedError", null],
  not_found: ["NotFoundError", null],
  model_not_found: ["NotFoundError", "model_not_found"],
  method_not_allowed: ["APIError", "method_not_allowed"],
  request_timeout: ["APIError", "request_timeout"],
  request_too_large: ["APIError", "request_too_large"],
  unsupported_media_type: ["APIError", "unsupported_media_type"],
  model_task_mismatch: ["UnprocessableEntityError", "model_task_mismatch"],
  upgrade_required: ["APIError", "upgrade_required"],
  rate_limit: ["RateLimitError", "rate_limit_exceeded"],
  headers_too_large: ["APIError", "headers_too_large"],
  client_closed: ["APIError", "client_closed"],
  internal: ["InternalServerError", "internal_error"],
  unsupported: ["InternalServerError", "unsupported"],
  upstream_error: ["InternalServerError", "upstream_error"],
  unavailable: ["InternalServerError", "unavailable"],
  upstream_timeout: ["InternalServerError", "upstream_timeout"],
};

for (const major of MAJORS) {
  const { Sdk } = major;
  for (const [wire, { ask, text, wrong: [field, askWrongly] }] of Object.entries(WIRES)) {
    const test = (name: string, act: () => Promise<void>) => Deno.test(`openai ${major.major}, ${wire}: ${name}`, act);

    for (const [code, [name, shown]] of Object.entries(RAISED)) {
      test(`${code} raises ${name}`, async () => {
        const app = newResponsesApp({
          config: FAILING,
          plugins: { protocols, drivers: [...drivers, failing], catalogs },
        });
        for (const stream of [false, true]) {
          // Its retries are on: the gateway says that they are of no use.
          const client = newClient(major, app, "oss", 2);
          const error = await assertRejects(
            () => ask(client, { model: code, stream }),
            Sdk[name] as typeof Sdk.APIError,
          );
          assertEquals(error.constructor, Sdk[name]);
          assertEquals([error.status, error.code, error.param], [STATUS_OF[code as ErrorCode], shown, "model"]);
          assertEquals(typeof error.type, "string");
          assertStringIncludes(error.message, `It failed: ${code}`);
          assertEquals(error.requestID, app.logs.at(-1)!.id);
          assertEquals(error.headers!.get("retry-after"), "7");
        }
        assertEquals(app.logs.length, 2);
      });
    }

    test("a limit of the upstream is waited for and tried again", async () => {
      const upstream = fakeUpstream(
        () => Response.json({ error: "Too Many Requests" }, { status: 429, headers: { "retry-after": "0.05" } }),
        () => answerWhole("at last"),
      );
      const client = newClient(major, newResponsesApp({ fetch: upstream.fetch }), "oss", 1);
      assertEquals([await text(client, "model"), upstream.asked.length], ["at last", 2]);
    });

    test("what nobody can mend by trying again is not tried again", async () => {
      const upstream = fakeUpstream(() => answerWhole());
      const app = newResponsesApp({ env: {}, fetch: upstream.fetch });
      const client = newClient(major, app, "oss", 2);
      const error = await assertRejects(() => ask(client, { model: "model" }), Sdk.InternalServerError);
      assertStringIncludes(error.message, "UPSTREAM_SECRET");
      assertEquals([app.logs.length, upstream.asked.length], [1, 0]);
    });

    test("a wrong key, a lane that is closed, a lane that is not there", async () => {
      const config: ConfigInput = {
        ...CONFIG,
        keys: [{ name: "team", secret: { env: "TEAM_KEY" }, lanes: ["oss"] }],
        lanes: { ...CONFIG.lanes, closed: CONFIG.lanes.oss },
      };
      const app = newResponsesApp({ config });
      const askIn = (lane: string, apiKey?: string) => {
        const client = newClient(major, app, lane);
        return text(apiKey ? client.withOptions({ apiKey }) : client, "sandbox");
      };
      await assertRejects(() => askIn("oss", "wrong"), Sdk.AuthenticationError, "Invalid API key");
      await assertRejects(() => askIn("closed"), Sdk.PermissionDeniedError, 'lane "closed"');
      await assertRejects(() => askIn("nope"), Sdk.NotFoundError, 'lane "nope"');
      assert(await askIn("oss"));
    });

    test("a field that is wrong is named", async () => {
      const error = await assertRejects(() => askWrongly(newClient(major, newResponsesApp())), Sdk.BadRequestError);
      assertEquals([error.param, error.type], [field, "invalid_request_error"]);
    });
  }

  Deno.test(`openai ${major.major}, chat: an error in mid-stream is raised, and never an end`, async () => {
    const failure = 'data: {"error":{"message":"Out of memory","code":500}}\n\n';
    const upstream = fakeUpstream(() => answerStream([word("one"), failure, "data: [DONE]\n\n"]));
    const client = newClient(major, newResponsesApp({ fetch: upstream.fetch }));

    let text = "";
    const error = await assertRejects(async () => {
      const stream = await client.chat.completions.create({ model: "model", messages: HELLO, stream: true });
      for await (const { choices } of stream) text += choices[0]!.delta.content;
    }, Sdk.APIError);
    assertEquals([text, error.code, error.type], ["one", "upstream_error", "server_error"]);
    assert(error.requestID!.startsWith("req_"));
    assertStringIncludes(error.message, "Out of memory");

    const helper = client.chat.completions.stream({ model: "model", messages: HELLO });
    assertEquals((await assertRejects(() => helper.finalChatCompletion(), Sdk.APIError)).code, "upstream_error");
  });

  Deno.test(`openai ${major.major}, chat: an upstream that breaks off is raised`, async () => {
    const upstream = fakeUpstream(() => answerStream([word("one")], new TypeError("connection reset")));
    const client = newClient(major, newResponsesApp({ fetch: upstream.fetch }));
    const helper = client.chat.completions.stream({ model: "model", messages: HELLO });
    assertEquals((await assertRejects(() => helper.finalChatCompletion(), Sdk.APIError)).code, "upstream_error");
  });
}
