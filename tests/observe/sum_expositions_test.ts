import { assertEquals } from "@std/assert";
import { Counter, gauge, Histogram } from "../../src/observe/exposition.ts";
import { sumExpositions, withoutGauges } from "../../src/observe/sum_expositions.ts";

function pageOf(requests: number, running: number, resting: number, upstream = "a b"): string {
  const counter = new Counter("requests_total", "Finished requests.");
  counter.add({ lane: "oss", upstream }, requests);
  const histogram = new Histogram("seconds", "How long.", [1, 2]);
  histogram.observe(histogram.of({}), requests);
  const gauges = [
    gauge("running", "What runs.", [[{}, running]]),
    gauge("laneway_breaker_open_targets", "What rests.", [[{ upstream }, resting]]),
    gauge("laneway_build_info", "The version.", [[{ version: "1" }, 1]]),
  ];
  return [counter, histogram, ...gauges].map((family) => family.render()).join("");
}

Deno.test("metrics of several processes: what is alike is added up, and what each knows by itself is not", () => {
  assertEquals(sumExpositions([pageOf(1, 2, 3)]), pageOf(1, 2, 3));
  const lines = sumExpositions([pageOf(1, 2, 3), pageOf(1.5, 4, 1), pageOf(9, 0, 0, "c")]).split("\n");
  assertEquals(lines.filter((line) => !line.startsWith("# HELP")), [
    "# TYPE requests_total counter",
    'requests_total{lane="oss",upstream="a b"} 2.5',
    'requests_total{lane="oss",upstream="c"} 9',
    "# TYPE seconds histogram",
    'seconds_bucket{le="1"} 1',
    'seconds_bucket{le="2"} 2',
    'seconds_bucket{le="+Inf"} 3',
    "seconds_sum 11.5",
    "seconds_count 3",
    "# TYPE running gauge",
    "running 6",
    "# TYPE laneway_breaker_open_targets gauge",
    'laneway_breaker_open_targets{upstream="a b"} 3',
    'laneway_breaker_open_targets{upstream="c"} 0',
    "# TYPE laneway_build_info gauge",
    'laneway_build_info{version="1"} 1',
    "",
  ]);
});

Deno.test("metrics of a process that has gone: its counts stay, and nothing that was so at its moment", () => {
  const [counts] = pageOf(1, 2, 3).split("# HELP running");
  assertEquals(withoutGauges(pageOf(1, 2, 3)), counts);
  assertEquals(sumExpositions([withoutGauges(""), pageOf(1, 2, 3)]), pageOf(1, 2, 3));
});
