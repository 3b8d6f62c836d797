/** Limits that several gateways count together on a real server. */
import { testAdmission } from "../../http/admission_contract.ts";
import { isRedisMissing } from "../../support/redis_server.ts";
import { startCounting } from "./counting_server.ts";

testAdmission("on a server", async (start) => {
  const { clock, gateway, close } = await startCounting(start);
  const { admission, link } = await gateway();
  return { admission, pass: (ms) => void (clock.ms += ms), settled: () => link.settled(), close };
}, { ignore: isRedisMissing });
