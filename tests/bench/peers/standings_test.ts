import { assertEquals } from "@std/assert";
import { type Figure, formatTable, Results } from "../table.ts";
import { standings } from "./standings.ts";

Deno.test("a report says in which rows Laneway is not first", () => {
  const figures: Record<string, Figure> = {
    pieces: { label: "pieces", unit: "count", digits: 0 },
    cpu: { label: "a stream: CPU", unit: "ms", digits: 1, beside: "times" },
    rate: { label: "answers", unit: "1/s", digits: 0 },
  };
  const results = new Results();
  results.record("bare", { pieces: 9, cpu: 1, rate: 900 });
  results.record("Laneway", { pieces: 9, cpu: 4, rate: 500 });
  results.record("Laneway, node", { pieces: 9, cpu: 3, rate: 400 });
  results.record("peer", { pieces: 1, cpu: 2.5, rate: 100 });
  results.fail("other", ["cpu"], "1 of 2 streams");
  const table = formatTable(figures, ["bare", "Laneway", "Laneway, node", "peer", "other"], results);
  assertEquals(
    standings(table),
    "Laneway is first in 1 of 2 rows. It is not first in:\n\n" +
      "- a stream: CPU, ms: peer is first with 2.5; Laneway 4.0, Laneway, node 3.0.",
  );
});
