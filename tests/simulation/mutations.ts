/** Bugs on purpose, one at a time: each is a change of the source, which the search has to find. */

export interface Mutation {
  /** What is wrong then. */
  name: string;
  about:
    | "failover"
    | "billing"
    | "recall"
    | "continuation"
    | "budgets"
    | "limits"
    | "leaks"
    | "tools"
    | "sockets";
  file: string;
  /** Each text, which is there once, and what takes its place. */
  changes: readonly (readonly [from: string, to: string])[];
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "no other target is asked after a failure that may have cost something",
    about: "failover",
    file: "src/routing/failover.ts",
    changes: [["this.#begun <= this.#plan.policy.failovers", "this.#begun < this.#plan.policy.failovers"]],
  },
  {
    name: "targets that rest are not asked at all",
    about: "failover",
    file: "src/routing/circuit_breaker.ts",
    changes: [["return [...awake, ...resting];", "return awake;"]],
  },
  {
    name: "only the last call of a request is billed",
    about: "billing",
    file: "src/context/request_log.ts",
    changes: [["this.#bills.length > 1 ? addCosts(this.#bills) : this.#bills[0]?.cost", "this.#bills.at(-1)?.cost"]],
  },
  {
    name: "a call that failed before its answer is billed",
    about: "billing",
    file: "src/context/bill.ts",
    changes: [["if (outputTokens === 0 && !isGivenUp) return this.#close(undefined, undefined, true);", ""]],
  },
  {
    name: "an answer counts as stored although the store failed",
    about: "recall",
    file: "src/inference/storage.ts",
    changes: [["exchange.stored = false;", ""]],
  },
  {
    name: "a stored conversation may be continued with any key",
    about: "recall",
    file: "src/state/turns.ts",
    changes: [
      ["[this.#space.answers, owner, id, part]", '[this.#space.answers, part === "place" ? "" : owner, id, part]'],
      ["[this.#space.threads, owner, thread]", '[this.#space.threads, "", thread]'],
      ["JSON.stringify([owner, id])", 'JSON.stringify(["", id])'],
    ],
  },
  {
    name: "a response of a thread is continued as often as somebody asks for it",
    about: "recall",
    file: "src/state/threads.ts",
    changes: [
      ["isLinear: true", "isLinear: false"],
      ["turns.isFollowed(owner, line)", "Promise.resolve(turns.isFollowed === undefined)"],
    ],
  },
  {
    name: "a response that a request could not continue stays claimed",
    about: "recall",
    file: "src/state/threads.ts",
    changes: [['await answers.ask("delete", store.delete(own, key))', "await Promise.resolve()"]],
  },
  {
    name: "the latest turn of a stored conversation is forgotten",
    about: "recall",
    file: "src/state/turns.ts",
    changes: [["turns: newest.reverse()", "turns: newest.slice(1).reverse()"]],
  },
  {
    name: "an answer goes on as often as it breaks off",
    about: "continuation",
    file: "src/inference/continuation.ts",
    changes: [["const MOST = 2;", "const MOST = 9;"]],
  },
  {
    name: "white space before the seam comes twice",
    about: "continuation",
    file: "src/transforms/seam.ts",
    changes: [["again: shown.slice(sent.length) }", 'again: "" }']],
  },
  {
    name: "a connection that breaks amid an answer is no reason to go on",
    about: "continuation",
    file: "src/inference/continuation.ts",
    changes: [["!details.own && details.retryable !== false;", "!details.own && details.retryable === true;"]],
  },
  {
    name: "what a request had reserved is not given back",
    about: "budgets",
    file: "src/state/budget/period_ledger.ts",
    changes: [["this.#share.settle(held, cost);", "this.#share.settle(0n, cost);"]],
  },
  {
    name: "a gateway may spend what another one holds",
    about: "budgets",
    file: "src/state/budget/pool.ts",
    changes: [["if (share.until > terms.now) heldByOthers += share.held;", ""]],
  },
  {
    name: "a call whose client waits for the whole answer never gives its place back",
    about: "limits",
    file: "src/routing/failover.ts",
    changes: [["      release?.();\n", ""]],
  },
  {
    name: "a request that is over keeps its place on the server",
    about: "limits",
    file: "src/state/counts.ts",
    changes: [["    leases?.delete(id);\n", ""]],
  },
  {
    name: "each gateway counts the places of an upstream for itself",
    about: "limits",
    file: "src/routing/shared_concurrency.ts",
    changes: [[
      "if (!this.#counts.isUp()) return this.#takeAlone();",
      "if (this.#running >= 0) return this.#takeAlone();",
    ]],
  },
  {
    name: "each gateway counts the requests of a minute for itself",
    about: "limits",
    file: "src/http/shared_quota.ts",
    changes: [[
      "return this.#counts.isUp() ? this.#ask(tokens, explain) : this.#admitAlone(tokens, explain);",
      "return this.#mirror.admitNow(tokens);",
    ]],
  },
  {
    name: "a request that is over still listens for the end of its gateway",
    about: "leaks",
    file: "src/util/abort.ts",
    changes: [[
      "else this.#dependents.add(dependent);",
      'else this.#signal.addEventListener("abort", () => controller.abort(this.#signal.reason));',
    ]],
  },
  {
    name: "a connection to the server that is lost is never opened again",
    about: "limits",
    file: "src/state/redis/link.ts",
    changes: [[
      "    this.#failure = error;\n    this.#next(RETRY_MS, () => void this.#connect().catch(() => {}));",
      "    this.#failure = error;",
    ]],
  },
  {
    name: "a report of spending that meets another one in the database is lost",
    about: "budgets",
    file: "src/state/kv_store.ts",
    changes: [["if (await commit(replacement)) return;", "return void await commit(replacement);"]],
  },
  {
    name: "a call of a remote tool is made again after a connection that broke",
    about: "tools",
    file: "src/hosted/mcp.ts",
    changes: [[
      'const result = await this.#ask("tools/call", { name, arguments: fields }, name, signal);',
      'const ask = () => this.#ask("tools/call", { name, arguments: fields }, name, signal);\n' +
      "    const result = await ask().catch(() => ask());",
    ]],
  },
  {
    name: "the answer to another request passes for the result of a call",
    about: "tools",
    file: "src/hosted/mcp.ts",
    changes: [
      ["message.id === id && message.method === undefined", "message.method === undefined"],
      ["if (body.id !== id)", "if (body.id === undefined)"],
    ],
  },
  {
    name: "sessions with remote servers are left open",
    about: "tools",
    file: "src/app.ts",
    changes: [["        gateway.hosted.runner.close(),\n", ""]],
  },
  {
    name: "a conversation forgets what was answered in it",
    about: "recall",
    file: "src/inference/storage.ts",
    changes: [["{ messages: [...asked, ...answer] }", "{ messages: asked }"]],
  },
  {
    name: "a request does not know the conversation that it belongs to",
    about: "recall",
    file: "src/inference/recall.ts",
    changes: [[
      "const before = items.map(({ message }) => message);",
      "const before = items.slice(0, 0).map(({ message }) => message);",
    ]],
  },
  {
    name: "messages of one lane of a WebSocket are answered side by side",
    about: "sockets",
    file: "src/socket/responses_socket.ts",
    changes: [["if (this.#busy.has(name)) continue;", ""]],
  },
];
