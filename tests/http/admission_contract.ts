/** What every admission does, whoever counts. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Quota } from "../../src/contract/allowance.ts";
import { GatewayError } from "../../src/errors.ts";
import type { Admission } from "../../src/http/admission.ts";

export interface Rig {
  admission: Admission;
  /** Sets all clocks on, or back, by so many milliseconds. */
  pass(ms: number): void;
  /** Resolves once what was settled is counted. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** `start`: what the clocks show, in milliseconds since the epoch. */
export type OpenRig = (start: number) => Promise<Rig>;

const MIDNIGHT = Date.UTC(2026, 10, 21);
const KEY = "team";

interface Setting extends Rig {
  key: { name: string; quota: Quota };
  admit(tokens?: number): Promise<(more?: number) => Promise<void>>;
  refusal(tokens?: number): Promise<string>;
  allowance(): object;
}

function settingOf(rig: Rig, quota: Quota): Setting {
  const key = { name: KEY, quota };
  const admit = async (tokens = 0) => {
    const permit = await rig.admission(key)!.admit(tokens);
    return async (more?: number) => {
      permit.settle(more);
      await rig.settled();
    };
  };
  return {
    ...rig,
    key,
    admit,
    allowance: () => rig.admission(key)!.allowance(),
    async refusal(tokens = 0) {
      const error = await assertRejects(() => admit(tokens), GatewayError);
      assertEquals(error.code, "rate_limit");
      return `${error.message} · ${error.details.retryAfter}`;
    },
  };
}

type Law = [what: string, quota: Quota, use: (setting: Setting) => Promise<void>, start?: number];

const LAWS: Law[] = [
  ["so many requests a minute, at once or as they come", { requestsPerMinute: 6 }, async ({ pass, admit, refusal }) => {
    for (let time = 0; time < 6; time++) await (await admit())();
    assertEquals(await refusal(), 'Key "team" is limited to 6 requests per minute · 10');
    pass(9_999);
    await refusal();
    pass(1);
    await admit();
    pass(3_600_000);
    for (let time = 0; time < 6; time++) await admit();
    await refusal();
  }],
  ["a limit that no minute is a multiple of is neither more nor less", { requestsPerMinute: 7 }, async (setting) => {
    const { pass, admit, refusal } = setting;
    for (let minute = 0; minute < 3; minute++) {
      for (let time = 0; time < 7; time++) await admit();
      await refusal();
      pass(60_000);
    }
    assertEquals(setting.allowance(), { requests: { limit: 7, remaining: 7, resetMs: 0 } });
  }],
  ["one request a minute", { requestsPerMinute: 1 }, async ({ pass, admit, refusal }) => {
    for (let minute = 0; minute < 3; minute++) {
      await admit();
      assertEquals(await refusal(), 'Key "team" is limited to 1 request per minute · 60');
      pass(60_000);
    }
  }],
  ["tokens are counted when they are used, and waited for", { tokensPerMinute: 600 }, async (setting) => {
    const { pass, admit, refusal } = setting;
    await (await admit(100))(700);
    // 200 too many: 20 s until there is nothing owed, and 10 s for the 100.
    assertEquals(await refusal(100), 'Key "team" is limited to 600 tokens per minute · 30');
    pass(30_000);
    await admit(100);
  }],
  ["one token a minute, and requests that are sure to use none", { tokensPerMinute: 1 }, async (setting) => {
    const { pass, admit, refusal } = setting;
    for (let time = 0; time < 3; time++) await (await admit(0))();
    await (await admit(0))(1);
    assertEquals(await refusal(0), 'Key "team" is limited to 1 token per minute · 60');
    pass(60_000);
    await admit(0);
  }],
  [
    "a request larger than a minute's worth is served when all of that is there",
    { tokensPerMinute: 600 },
    async (setting) => {
      const { pass, admit, refusal } = setting;
      await (await admit(1))();
      await refusal(5_000);
      pass(60_000);
      await admit(5_000);
      assertEquals(await refusal(1), 'Key "team" is limited to 600 tokens per minute · 441');
    },
  ],
  ["a day's tokens are there again at midnight UTC", { tokensPerDay: 1_000 }, async ({ pass, admit, refusal }) => {
    await (await admit(400))(600);
    assertEquals(await refusal(), 'Key "team" is limited to 1000 tokens per day · 3600');
    pass(3_600_000);
    await admit();
  }, MIDNIGHT + 86_400_000 - 3_600_000],
  ["what is given back of the day before is nothing to use today", { tokensPerDay: 100 }, async (setting) => {
    const { pass, admit, refusal } = setting;
    const settle = await admit(90);
    pass(3_600_000);
    await settle(-90);
    await (await admit(100))();
    await refusal();
  }, MIDNIGHT - 1_000],
  [
    "so many requests at once, and one that is over makes room, once",
    { concurrentRequests: 2 },
    async ({ admit, refusal }) => {
      const first = await admit();
      await admit();
      assertEquals(await refusal(), 'Key "team" is limited to 2 concurrent requests · 1');
      await first();
      await first();
      await admit();
      await refusal();
    },
  ],
  [
    "one key's use is not another's, and a refused request uses nothing",
    { requestsPerMinute: 1 },
    async ({ admission, admit, refusal }) => {
      await admit();
      for (let time = 0; time < 10; time++) await refusal();
      await admission({ name: "other", quota: { requestsPerMinute: 1 } })!.admit(0);
    },
  ],
  [
    "what is left is known of each limit",
    { requestsPerMinute: 10, tokensPerMinute: 1_000 },
    async ({ pass, admit, allowance }) => {
      await (await admit(300))(200);
      pass(6_000);
      assertEquals(allowance(), {
        requests: { limit: 10, remaining: 10, resetMs: 0 },
        tokens: { limit: 1_000, remaining: 600, resetMs: 24_000 },
      });
    },
  ],
  [
    "of two limits on tokens the tighter one is reported",
    { tokensPerMinute: 1_000, tokensPerDay: 500 },
    async ({ admit, allowance }) => {
      await (await admit(100))(50);
      assertEquals(allowance(), { tokens: { limit: 500, remaining: 350, resetMs: 86_400_000 } });
    },
  ],
  [
    "what is refused leaves what is left as it is",
    { requestsPerMinute: 2, tokensPerMinute: 100 },
    async ({ admit, refusal, allowance }) => {
      await admit(100);
      await refusal(1);
      assertEquals(allowance(), {
        requests: { limit: 2, remaining: 1, resetMs: 30_000 },
        tokens: { limit: 100, remaining: 0, resetMs: 60_000 },
      });
    },
  ],
  [
    "a changed limit counts from then on, and the day's use stays",
    { tokensPerDay: 1_000 },
    async ({ admission, admit }) => {
      await admit(900);
      const tighter = { name: KEY, quota: { tokensPerDay: 800 } };
      await assertRejects(async () => await admission(tighter)!.admit(0), GatewayError, "800 tokens per day");
    },
  ],
  ["the same limits, read anew, are the same account", { requestsPerMinute: 1 }, async ({ admission, admit }) => {
    await admit();
    const again = { name: KEY, quota: { requestsPerMinute: 1 } };
    await assertRejects(async () => await admission(again)!.admit(0), GatewayError);
  }],
  [
    "what is owed is reported as nothing left, and lets nobody in",
    { tokensPerMinute: 600 },
    async ({ admit, refusal, allowance }) => {
      await (await admit(600))(60);
      assertEquals(allowance(), { tokens: { limit: 600, remaining: 0, resetMs: 66_000 } });
      assertEquals(await refusal(0), 'Key "team" is limited to 600 tokens per minute · 7');
    },
  ],
  [
    "an answer puts a key into debt by a minute's worth at most, and what was known before in full",
    { tokensPerMinute: 600 },
    async ({ pass, admit, refusal }) => {
      await (await admit(100))(1e9);
      assertEquals(await refusal(1), 'Key "team" is limited to 600 tokens per minute · 61');
      pass(120_000);
      await (await admit(100))(-1e9);
      await (await admit(600))();
      await refusal(100);
      pass(60_000);
      // A request that is larger than a minute's worth, by the gateway's own count, is waited for in full; its answer adds nothing.
      const large = await admit(6_000);
      assertEquals(await refusal(1), 'Key "team" is limited to 600 tokens per minute · 541');
      await large(1e9);
      assertEquals(await refusal(1), 'Key "team" is limited to 600 tokens per minute · 541');
    },
  ],
  ["calls that the gateway makes for a request count as requests", { requestsPerMinute: 3 }, async (setting) => {
    const account = setting.admission(setting.key)!;
    await setting.admit();
    assertEquals([await account.takeCall(), await account.takeCall(), await account.takeCall()], [true, true, false]);
    await setting.refusal();
    setting.pass(20_000);
    assertEquals(await account.takeCall(), true);
  }],
  ["calls need no room among the requests at once", { concurrentRequests: 1 }, async ({ admission, key, admit }) => {
    await admit();
    assertEquals(await admission(key)!.takeCall(), true);
  }],
  [
    "a request whose body is being read counts as one at once, and is refused before that",
    { concurrentRequests: 2 },
    async ({ admission, key, admit }) => {
      const account = admission(key)!;
      const received = [account.receive(), account.receive()];
      const { code, message } = assertThrows(() => account.receive(), GatewayError);
      assertEquals([code, message], ["rate_limit", 'Key "team" is limited to 2 concurrent requests']);
      received[0]!();
      const end = await admit();
      assertThrows(() => account.receive(), GatewayError);
      await end();
      received[1]!();
      account.receive()();
    },
  ],
  ["two hundred at once are as many as there may be", { requestsPerMinute: 60 }, async ({ admit }) => {
    const ends = await Promise.allSettled(Array.from({ length: 200 }, () => admit(1)));
    assertEquals(ends.filter(({ status }) => status === "fulfilled").length, 60);
  }],
  ["no limit at all refuses nobody", {}, async ({ admit, allowance }) => {
    for (let time = 0; time < 10; time++) await (await admit(1_000))(1_000);
    assertEquals(allowance(), {});
  }],
];

export function testAdmission(who: string, open: OpenRig, options: { ignore?: boolean } = {}): void {
  const test = (what: string, start: number, use: (rig: Rig) => Promise<void>) =>
    Deno.test({
      name: `admission ${who}: ${what}`,
      ...options,
      async fn() {
        const rig = await open(start);
        try {
          await use(rig);
        } finally {
          await rig.close();
        }
      },
    });
  test("a key without limits has no account", MIDNIGHT, (rig) => {
    assertEquals(rig.admission({ name: "free" }), undefined);
    return Promise.resolve();
  });
  for (const [what, quota, use, start = MIDNIGHT] of LAWS) test(what, start, (rig) => use(settingOf(rig, quota)));
}
