import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Driver } from "../../src/contract/driver.ts";
import { protocols } from "../../plugins/mod.ts";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../src/errors.ts";
import { ENV, newApp } from "../support/app.ts";
import { answerStream, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { forEachMajor, type Major, MAJORS } from "./messages_clients.ts";

/** What the SDKs make of each code: status, type in the body, and the class of each major. */
const RAISED: Record<ErrorCode, [status: number, type: string, class1: string, class0: string]> = {
  invalid_request: [400, "invalid_request_error", "BadRequestError", "BadRequestError"],
  context_length_exceeded: [400, "invalid_request_error", "BadRequestError", "BadRequestError"],
  previous_response_not_found: [400, "invalid_request_error", "BadRequestError", "BadRequestError"],
  authentication: [401, "authentication_error", "AuthenticationError", "AuthenticationError"],
  billing: [402, "billing_error", "PaymentRequiredError", "APIError"],
  budget_exceeded: [402, "billing_error", "PaymentRequiredError", "APIError"],
  permission: [403, "permission_error", "PermissionDeniedError", "PermissionDeniedError"],
  not_found: [404, "not_found_error", "NotFoundError", "NotFoundError"],
  model_not_found: [404, "not_found_error", "NotFoundError", "NotFoundError"],
  method_not_allowed: [405, "invalid_request_error", "APIError", "APIError"],
  request_timeout: [408, "invalid_request_error", "RequestTimeoutError", "APIError"],
  request_too_large: [413, "request_too_large", "ContentTooLargeError", "APIError"],
  unsupported_media_type: [415, "invalid_request_error", "APIError", "APIError"],
  model_task_mismatch: [422, "invalid_request_error", "UnprocessableEntityError", "UnprocessableEntityError"],
  upgrade_required: [426, "invalid_request_error", "APIError", "APIError"],
  rate_limit: [429, "rate_limit_error", "RateLimitError", "RateLimitError"],
  headers_too_large: [431, "request_too_large", "RequestHeaderFieldsTooLargeError", "APIError"],
  client_closed: [499, "invalid_request_error", "ClientClosedRequestError", "APIError"],
  internal: [500, "api_error", "InternalServerError", "InternalServerError"],
  unsupported: [501, "not_supported", "NotImplementedError", "InternalServerError"],
  upstream_error: [502, "api_error", "InternalServerError", "InternalServerError"],
  unavailable: [529, "overloaded_error", "OverloadedError", "InternalServerError"],
  upstream_timeout: [504, "timeout_error", "GatewayTimeoutError", "InternalServerError"],
};

/** Fails with the error whose code is the model's name. */
function failing(details: ConstructorParameters<typeof GatewayError>[2] = {}): Driver {
  return {
    name: "failing",
    wire: "failing",
    operations: {
      generate: {
        local: (_input, { model }) => {
          throw new GatewayError(model as ErrorCode, `It failed with ${model}`, details);
        },
      },
    },
    parseError: () => new GatewayError("internal", "It makes no calls"),
  };
}

/** A client of an app with a model for each code, and how often the app was asked. */
function newSetting({ Sdk }: Major, driver: Driver, maxRetries = 0) {
  const codes = Object.keys(RAISED);
  const app = newApp({
    config: {
      upstreams: { failing: { driver: "failing" } },
      lanes: {
        oss: {
          models: Object.fromEntries(
            codes.map((code) => [code, { task: "chat" as const, targets: [{ upstream: "failing", model: code }] }]),
          ),
        },
      },
    },
    plugins: { protocols, drivers: [driver] },
  });
  const asked = { times: 0 };
  const client = new Sdk({
    apiKey: "key",
    baseURL: "http://gateway/oss",
    maxRetries,
    fetch(input, init) {
      asked.times++;
      return app.fetch(new Request(input, init));
    },
  });
  return { client, asked };
}

function ask(model: string) {
  return { model, max_tokens: 10, messages: [{ role: "user" as const, content: "Hello" }] };
}

for (const major of MAJORS) {
  for (const [code, [status, type, class1, class0]] of Object.entries(RAISED)) {
    const name = major.major === 1 ? class1 : class0;
    Deno.test(`messages SDK ${major.major}: ${code} is raised as ${name} ${status}`, async () => {
      const { client } = newSetting(major, failing());
      const failures = [
        () => client.messages.create(ask(code)),
        () => client.messages.stream(ask(code)).finalMessage(),
      ];
      for (const fail of failures) {
        const error = await assertRejects(fail, major.Sdk.APIError);
        assertEquals(error.constructor.name, name);
        assertEquals([error.status, error.type], [status, type]);
        assert(/^req_/.test(error.requestID ?? ""), "the id of the request is there");
        assert(error.message.includes(`It failed with ${code}`), error.message);
        const mismatch = ["model_task_mismatch", "budget_exceeded"].includes(code) ? { error_code: code } : undefined;
        assertEquals((error.error as { error: { details?: unknown } }).error.details, mismatch);
        if (major.major === 1) assertEquals(error.errorCode, mismatch ? code : null);
      }
    });
  }

  Deno.test(`messages SDK ${major.major}: a failure is tried again as soon as the gateway says`, async () => {
    const { client, asked } = newSetting(major, failing({ retryAfter: "0.01" }), 2);
    await assertRejects(() => client.messages.create(ask("unavailable")), major.Sdk.APIError);
    assertEquals(asked.times, 3);
  });

  Deno.test(`messages SDK ${major.major}: what cannot succeed is not tried again`, async () => {
    const { client, asked } = newSetting(major, failing({ retryable: false }), 2);
    await assertRejects(() => client.messages.create(ask("unavailable")), major.Sdk.APIError);
    assertEquals(asked.times, 1);
  });
}

Deno.test("every code has its status, and the table says where this wire's is another", () => {
  const others = Object.entries(RAISED).filter(([code, [status]]) => STATUS_OF[code as ErrorCode] !== status);
  assertEquals(others.map(([code]) => code), ["unavailable"]);
});

forEachMajor("a model of another task is a typed error before any call", async ({ client }, { Sdk }) => {
  const error = await assertRejects(() => client.messages.create(ask("embedder")), Sdk.UnprocessableEntityError);
  assertEquals((error.error as { error: { details?: unknown } }).error.details, { error_code: "model_task_mismatch" });
}, fakeUpstream);

forEachMajor("a wrong key and none", async ({ newClient }, { Sdk }) => {
  const wrong = await assertRejects(
    () => newClient({ apiKey: "wrong" }).messages.create(ask("sandbox")),
    Sdk.AuthenticationError,
  );
  assertEquals([wrong.type, wrong.message.includes(ENV.TEAM_KEY!)], ["authentication_error", false]);
  const list = newClient({ apiKey: "wrong" }).models.list();
  await assertRejects(async () => await list, Sdk.AuthenticationError);
}, fakeUpstream);

forEachMajor("a field that is wrong is named", async ({ client }, { Sdk }) => {
  const body = { ...ask("sandbox"), messages: [{ role: "user" as const, content: [{ type: "text", text: 5 }] }] };
  // @ts-expect-error: the text of a block is no number
  const error = await assertRejects(() => client.messages.create(body), Sdk.BadRequestError);
  assert(error.message.includes("messages[0].content[0].text"), error.message);
}, fakeUpstream);

forEachMajor(
  "a stream that breaks raises what broke it",
  async ({ client }, { Sdk }) => {
    const stream = client.messages.stream(ask("model"));
    let text = "";
    stream.on("text", (delta) => void (text += delta));
    const error = await assertRejects(() => stream.finalMessage(), Sdk.APIError);
    assertEquals(text, "one");
    assertEquals(error.type, "overloaded_error");
    assert(error.message.includes("Too many people"), error.message);
  },
  () =>
    fakeUpstream(() =>
      answerStream([word("one"), `data: ${JSON.stringify({ error: { message: "Too many people", code: 503 } })}\n\n`])
    ),
);
