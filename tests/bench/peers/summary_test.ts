import { assertEquals } from "@std/assert";
import { type Figure, formatTable, Results } from "../table.ts";
import { summarize } from "./summary.ts";

const figures: Record<string, Figure> = {
  start: { label: "start", unit: "ms", digits: 0, beside: "times" },
  other: { label: "something else", unit: "ms", digits: 0 },
};

Deno.test("summary: medians with what they are beside bare; no ranges, no reasons of failures, no figures of the record alone", () => {
  const chat = new Results();
  for (const start of [8, 10, 12]) chat.record("bare", { start, other: 1 });
  for (const start of [20, 25, 26]) chat.record("Laneway", { start, other: 1 });
  chat.fail("Other", ["start"], "no answer | after 20 s");
  const messages = new Results();
  messages.record("bare", { start: 10 });
  messages.record("Laneway", { start: 30 });
  const names = ["bare", "Laneway", "Other"];
  const table = summarize([
    {
      title: "Clients of the chat wire",
      clients: "chat",
      table: formatTable(figures, names, chat).replace("no answer | after", "no answer after"),
    },
    { title: "Start", table: formatTable(figures, names.slice(0, 2), messages) },
  ], names);
  assertEquals(table.split("\n").map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim())), [
    ["", "bare", "Laneway", "Other"],
    ["---------------", "---:", "-------:", "----:"],
    ["chat: start, ms", "10", "25, 2.5×", "fails"],
    ["start, ms", "10", "30, 3.0×", ""],
  ]);
});
