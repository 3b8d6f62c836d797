/** Limits that several gateways count together at a keeper. */
import { testAdmission } from "../http/admission_contract.ts";
import { startKeptCounting } from "./kept_counting.ts";

testAdmission("at a keeper", async (start) => {
  const { clock, gateway, close } = startKeptCounting(start);
  const { admission, link } = await gateway();
  return { admission, pass: (ms) => void (clock.ms += ms), settled: () => link.settled(), close };
}, {});
