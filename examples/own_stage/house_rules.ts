/** A stage of your own: conversations of certain keys begin with the operator's instructions. */
import {
  type GenerateRequest,
  type Input,
  type Message,
  type ModelOperation,
  type Passed,
  type Stage,
  type StageContext,
  type StagePlugin,
  z,
} from "@laneway/gateway/plugin";

interface Options {
  text: string;
  keys?: string[];
}

/** Whether a pattern with `*` matches the name. */
function matches(pattern: string, name: string): boolean {
  const [start = "", ...rest] = pattern.split("*");
  return rest.length === 0 ? name === start : name.startsWith(start) && name.endsWith(rest.at(-1)!);
}

function withRules(input: GenerateRequest, text: string): GenerateRequest {
  const rules: Message = { role: "system", content: [{ type: "text", text }] };
  // A stage changes no object that it receives.
  return { ...input, messages: [rules, ...input.messages] };
}

export const houseRules: StagePlugin<Options> = {
  name: "houseRules",
  description: "Begins conversations with instructions of the operator.",
  options: z.strictObject({
    text: z.string().min(1).meta({ description: "The instructions." }),
    keys: z.array(z.string().min(1)).optional().meta({ description: "The keys they are for. By default all." }),
  }),
  create({ text, keys }): Stage {
    const isFor = ({ caller }: StageContext) => keys?.some((pattern) => matches(pattern, caller.name)) ?? true;
    return {
      name: "houseRules",
      // The same for tokens that are counted, so that the count is that of what is sent.
      operations: ["generate", "countTokens"],
      request<K extends ModelOperation>(input: Input<K>, about: StageContext): Passed<K> {
        if (!isFor(about)) return { input };
        return { input: withRules(input as GenerateRequest, text) as Input<K> };
      },
    };
  },
};
