import type { TokenizerCalls } from "../../src/contract/catalog.ts";
import { split } from "./finder.ts";
import { pathOf } from "./paths.ts";
import { isHubId } from "./places.ts";

/** Where a repository has its tokenizer. What has no owner is a name that some server of its own has given. */
export function tokenizerFiles(model: string): TokenizerCalls | undefined {
  const { id } = split(model);
  if (!isHubId(id) || !id.includes("/")) return undefined;
  const at = (file: string) => ({ path: `${pathOf(id)}/resolve/main/${file}` });
  return {
    vocabulary: at("tokenizer.json"),
    settings: at("tokenizer_config.json"),
    template: at("chat_template.jinja"),
  };
}
