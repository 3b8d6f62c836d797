/** An update of gateways behind HAProxy, one after the other, while clients ask; and one that is killed. */
import { assertEquals } from "@std/assert";
import { measure } from "../bench/load/main.ts";
import { withRig } from "../bench/load/rig.ts";
import { judge, type Kill } from "../bench/load/verdict.ts";
import { needs } from "../support/programs.ts";
import { isRedisMissing } from "../support/redis_server.ts";
import { report, scaled } from "./scale.ts";

const { ignore, why } = needs("haproxy");

Deno.test({
  name:
    `update: four gateways that are restarted one after the other lose no request, and a kill only what it cuts${why}`,
  // Starts, notices and checks take their time.
  ignore: ignore || isRedisMissing || scaled(1, 0) === 0,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withRig({ replicas: 4, checkMs: 2_000, noticeMs: 5_000 }, async (rig) => {
      const facts = await measure(rig, async () => {
        const exits: number[] = [];
        const kills: Kill[] = [];
        for (const name of rig.replicas) exits.push(await rig.restart(name));
        const [killed] = rig.replicas;
        kills.push({ replica: killed!, ...await rig.kill(killed!) });
        await rig.revive(killed!);
        return { exits, kills };
      });
      const verdicts = judge(facts);
      for (const { promise, found } of verdicts) report(`${promise}: ${found}`);
      assertEquals(verdicts.filter(({ holds }) => !holds), []);
    });
  },
});
