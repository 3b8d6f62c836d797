import { assert, assertEquals } from "@std/assert";
import { Calibration } from "../../src/tokens/calibration.ts";

/** What is counted for each of `estimates` after the answers to `answered`, whose real counts are `ratio` times as many. */
function counted(ratio: number, answered: readonly number[], estimates: readonly number[]): number[] {
  const calibration = new Calibration();
  for (const estimate of answered) calibration.learn("m", estimate, estimate * ratio);
  return estimates.map((estimate) => calibration.count("m", estimate).inputTokens);
}

Deno.test("until a model has answered, its count is the estimate and says so", () => {
  const calibration = new Calibration();
  calibration.learn("other", 1_000, 2_000);
  assertEquals(calibration.count("m", 1_000), { inputTokens: 1_000, by: "estimated" });
});

Deno.test("what answers told moves the count to within a few percent, and not below", () => {
  for (const ratio of [0.7, 1, 1.4]) {
    const [count] = counted(ratio, [20_000, 21_000, 22_000], [23_000]);
    assert(count! >= 23_000 * ratio && count! <= 23_000 * ratio * 1.05, `${ratio}: ${count}`);
  }
  assertEquals(new Calibration().count("m", 10).by, "estimated");
});

Deno.test("counts are not below the real ones on average, whatever the requests are like", () => {
  const calibration = new Calibration();
  let [real, reported] = [0, 0];
  for (let turn = 1; turn <= 200; turn++) {
    const estimate = 100 + (turn * 7_919) % 30_000;
    // Between 0.8 and 1.2 times as many, without an order.
    const tokens = Math.round(estimate * (0.8 + ((turn * 31) % 41) / 100));
    reported += calibration.count("m", estimate).inputTokens;
    real += tokens;
    calibration.learn("m", estimate, tokens);
  }
  assert(reported >= real && reported <= real * 1.06, `${reported} for ${real}`);
});

Deno.test("a short answer, which the template makes long, hardly moves the count of a long request", () => {
  const [count] = counted(7, [10], [20_000]);
  assert(count! < 20_000 * 1.1, String(count));
});

Deno.test("a model that begins to count otherwise is followed", () => {
  const calibration = new Calibration();
  for (let turn = 0; turn < 100; turn++) calibration.learn("m", 20_000, 16_000);
  for (let turn = 0; turn < 30; turn++) calibration.learn("m", 20_000, 30_000);
  assert(calibration.count("m", 20_000).inputTokens >= 29_500);
});

Deno.test("nonsense that upstreams tell leaves the count within its bounds", () => {
  for (const reported of [1, 0, -5, NaN, Infinity, 1e15]) {
    const calibration = new Calibration();
    for (let turn = 0; turn < 50; turn++) calibration.learn("m", 1_000, reported);
    const { inputTokens } = calibration.count("m", 1_000);
    assert(inputTokens >= 500 && inputTokens <= 3_100, `${reported}: ${inputTokens}`);
  }
});

Deno.test("some thousand models are kept in mind, and the latest are among them", () => {
  const calibration = new Calibration();
  for (let model = 0; model < 6_000; model++) calibration.learn(String(model), 1_000, 2_000);
  assertEquals(calibration.count("0", 100).by, "estimated");
  assertEquals(calibration.count("5999", 100).by, "calibrated");
});

Deno.test("a count that cannot be one of the text teaches nothing, whatever was learnt before", () => {
  for (const reported of [1e9, 200_001, 1_999, 1, 0, -5, NaN, Infinity]) {
    const [honest, lied] = [new Calibration(), new Calibration()];
    for (const calibration of [honest, lied]) calibration.learn("m", 20_000, 24_000);
    for (let turn = 0; turn < 10; turn++) lied.learn("m", 20_000, reported);
    assertEquals(lied.count("m", 20_000), honest.count("m", 20_000), String(reported));
  }
});
