/** The commands that manage stored keys. */
import { command, CONFIG, JSON_OUTPUT } from "./command.ts";

const group = "Keys and usage";

export const KEYS = command({
  name: "keys",
  group,
  summary: "creates, lists, rotates and revokes keys",
  operands: "create|list|rotate|revoke",
  about: "Manages the keys that the store of the gateway holds. The gateway need not stop for it.",
  options: { ...CONFIG },
  examples: ["keys create anna", "keys list"],
});

export const KEYS_CREATE = command({
  name: "keys create",
  group,
  operands: "<name>",
  about: "Creates a key and prints it; it is not shown again.",
  options: {
    lane: {
      type: "string",
      multiple: true,
      value: "<name>",
      help: "a lane that the key may use (repeatable; default: all)",
    },
    model: {
      type: "string",
      multiple: true,
      value: "<pattern>",
      help: "a model that the key may use (repeatable; default: all)",
    },
    expires: { type: "string", value: "<date>", help: "when it expires: 2027-01-31, or with a time" },
    continuation: {
      type: "string",
      value: "<where>",
      help: "where its answers that break off go on: off, same or any",
      words: ["off", "same", "any"],
    },
    "no-files": { type: "boolean", help: "may not upload or name files" },
    operator: { type: "boolean", help: "an operator's key, also for the console and /metrics" },
    "requests-per-minute": { type: "string", value: "<n>", help: "how many requests a minute it may make" },
    "tokens-per-minute": { type: "string", value: "<n>", help: "how many tokens a minute it may use" },
    "tokens-per-day": { type: "string", value: "<n>", help: "how many tokens a day it may use" },
    "concurrent-requests": { type: "string", value: "<n>", help: "how many requests it may make at once" },
    budget: {
      type: "string",
      value: "<dollars>/<period>",
      help: "what it may spend: 5/day, 20/week, 50/month or 100/total",
    },
    unpriced: {
      type: "string",
      value: "allow",
      help: "also serve models without a price, which the budget\ndoes not count; by default they are refused",
      words: ["allow", "refuse"],
    },
    team: { type: "string", value: "<name>", help: "the team whose budget it also spends" },
    ...CONFIG,
    ...JSON_OUTPUT,
  },
  examples: ["keys create anna --budget 20/week", "keys create ci --lane oss --expires 2027-12-31"],
});

export const KEYS_LIST = command({
  name: "keys list",
  group,
  about: "Prints the keys without their secrets, oldest first.",
  options: {
    limit: { type: "string", value: "<n>", help: "how many at most (default: 1000)" },
    after: { type: "string", value: "<name>", help: "start after the key with this name" },
    ...CONFIG,
    ...JSON_OUTPUT,
  },
  examples: ["keys list", "keys list --limit 50 --after anna"],
});

export const KEYS_ROTATE = command({
  name: "keys rotate",
  group,
  operands: "<name>",
  about: "Gives a key another secret and prints it.\nThe former one is still admitted for a while.",
  options: {
    keep: { type: "string", value: "<time>", help: "how long: 30m, 24h, 7d or 0 (default: 24h)" },
    ...CONFIG,
    ...JSON_OUTPUT,
  },
  examples: ["keys rotate anna", "keys rotate anna --keep 0"],
});

export const KEYS_REVOKE = command({
  name: "keys revoke",
  group,
  operands: "<name>",
  about: "Revokes a key, which stops working within a second.",
  options: { ...CONFIG, ...JSON_OUTPUT },
  examples: ["keys revoke anna", "keys revoke ci --json"],
});

export const KEY_COMMANDS = [KEYS, KEYS_CREATE, KEYS_LIST, KEYS_ROTATE, KEYS_REVOKE] as const;
