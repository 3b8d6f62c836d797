import { simulate } from "./world.ts";
import { scheduleFor } from "./schedule.ts";
const [from, count] = Deno.args.map(Number) as [number, number];
const laws = new Map<string, number[]>();
const since = performance.now();
let ms = 0;
for (let seed = from; seed < from + count; seed++) {
  const { violation, trace, simulatedMs } = await simulate(scheduleFor(seed));
  ms += simulatedMs;
  if (violation) {
    (laws.get(violation.law) ?? laws.set(violation.law, []).get(violation.law)!).push(seed);
    if (count === 1) console.log(trace.join("\n"), violation);
    else if (laws.get(violation.law)!.length <= 3) console.log(seed, violation.message.slice(0, 600), violation.law === "exception" ? violation.cause : "");
  }
}
console.log(laws, (performance.now() - since) / count, "ms each", ms / 1000 / ((performance.now() - since) / 1000), "simulated seconds per second");
