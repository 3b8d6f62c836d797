import { assertEquals } from "@std/assert";
import { drawFirst } from "../../src/lanes/weights.ts";

const A = { name: "a", weight: 1 };
const B = { name: "b", weight: 3 };
const NONE = { name: "n", weight: 0 };

Deno.test("weights: the first target is drawn by its share, the others keep their order", () => {
  const at = (random: number) => drawFirst([A, NONE, B], () => random).map(({ name }) => name).join("");
  assertEquals([at(0), at(0.249), at(0.25), at(0.999)], ["anb", "anb", "ban", "ban"]);
});

Deno.test("weights: without any the targets stand as they are", () => {
  const plain: { name: string; weight?: number }[] = [{ name: "x" }, { name: "y" }];
  assertEquals(drawFirst(plain, () => 0.9), plain);
  assertEquals(drawFirst([NONE], () => 0.9), [NONE]);
});
