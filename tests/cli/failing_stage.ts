/** The gateway with a stage that cannot be created with some options that its schema accepts. */
import { builtIn } from "@laneway/gateway";
import type { StagePlugin } from "@laneway/gateway/plugin";
import { run } from "@laneway/gateway/run";
import { z } from "zod";

const picky: StagePlugin<{ pattern: string }> = {
  name: "picky",
  description: "Takes a pattern.",
  options: z.strictObject({ pattern: z.string() }),
  create({ pattern }) {
    const words = new RegExp(pattern);
    return { name: "picky", operations: [], request: (input) => (words.test(""), { input }) };
  },
};

run({ plugins: { stages: [picky, ...builtIn.stages] } });
