/** Limits that several gateways count together at a keeper. */
import { testAdmission } from "../http/admission_contract.ts";
import { startKeeperCounting } from "./keeper_counting.ts";

testAdmission("at a keeper", async (start) => {
  const { clock, gateway, close } = startKeeperCounting(start);
  const { admission, link } = await gateway();
  return { admission, pass: (ms) => void (clock.ms += ms), settled: () => link.settled(), close };
}, {});
