/** Recognizes the reason of a refusal by its words, in English and Chinese. */
import type { FormName, RefusalIdeas } from "../../src/contract/body_layout.ts";
import { saysOverflow } from "./overflow.ts";

/** Each idea with the forms that it calls for. Those come first that lose least. */
const IDEAS: readonly [words: RegExp, forms: readonly FormName[]][] = [
  [
    /\bstream(?:ing)?\b.{0,40}\b(?:only|required|must|true)\b|\b(?:only|must|require[sd]?)\b.{0,60}\bstream(?:ing)?\b|只支持流式|仅支持流式/i,
    ["asked streamed"],
  ],
  [
    /(?:expected|must be|should be|valid)\s+(?:a |an |of type )?['"`]?str(?:ing)?\b|\bnot (?:a )?str(?:ing)?\b|(?:got|but got|invalid type:|cannot unmarshal|received) (?:an? )?(?:array|list|sequence)/i,
    ["texts joined"],
  ],
  [
    /\barguments?\b.{0,60}(?:json|object|dict|mapping|parse|valid)|(?:json|dict|parse).{0,60}\barguments?\b|参数.{0,20}json/i,
    ["arguments as objects"],
  ],
  [
    /\btool[_ ]?(?:call|use)(?:[_ ]?id)?s?\b.{0,80}(?:length|characters|match|pattern|format|alphanumeric|a-z)|\bid\b.{0,40}(?:length of 9|a-z, A-Z|alphanumeric)/i,
    ["short ids of calls"],
  ],
  [
    /\b(?:output|result)s? of (?:a |the )?tool|\btool(?: call)? (?:output|result)s?\b|function_call_output/i,
    ["results of tools as texts"],
  ],
  [
    /\btool_(?:addition|removal)\b/,
    ["tool changes in words"],
  ],
  [
    /item pairs from a mapping|\barguments?\b.{0,60}\b(?:mapping|dict(?:ionary)?)\b|\.items\(\)/i,
    ["arguments parsed"],
  ],
  [
    /\balternat(?:e|ing)\b|consecutive (?:user|assistant|turns|messages)/i,
    ["turns joined"],
  ],
  [
    /\bsystem\b.{0,20}\b(?:message|role|prompt|instruction)s?\b|\broles?\b.{0,60}['"`]?(?:system|developer)|(?:alternat|conversation roles|unexpected role|角色)/i,
    ["system messages merged", "system messages in the user turn"],
  ],
  [
    /type is not defined|(?:missing|no|without|requires?|must have) (?:a |the )?['"`]?type\b/i,
    ["schemas with types"],
  ],
  [
    /schema|grammar|\$ref|\bparser\b|function parameters|ToolFunctionParameters|ToolProperty|input_schema|\btools?\b.{0,40}\bparameters\b/i,
    ["schemas simplified", "schemas bare", "schemas empty"],
  ],
  [
    /\b(?:image|picture|vision|multimodal|visual)s?\b|图片|图像/i,
    ["pictures as placeholders"],
  ],
  [
    /chat template|jinja|apply_chat_template|template error|rendering/i,
    ["system messages merged", "arguments as objects", "texts joined", "schemas simplified"],
  ],
];

const THINKING = /\bthink(?:ing)?\b|\breasoning\b|思考/i;
const FORCED = /tool_choice|tool choice|forced? (?:tool|function)|工具/i;
const MISSING =
  /\bmissing\b|\brequired?\b|must (?:be|have been) (?:set|passed|provided|present|included)|passed back|不能为空|缺少/i;
/** They are about what was said, or about the account, and not about the form of the request. */
const FINAL: readonly RegExp[] = [
  // Moderation.
  /content[_ -]?(?:filter|policy|management|exists? risk)|moderat(?:ion|ed|or)|data_?inspection|\bflagged\b|\bnew_sensitive/i,
  /\bsafety (?:system|filter|polic|check|reason|guideline|setting|measure)|(?:usage|acceptable use) (?:polic|guideline)/i,
  /(?:unsafe|harmful|inappropriate|sensitive|prohibited|offensive|explicit|illegal|disallowed) (?:content|text|material|input|prompt|word|information|language)/i,
  /\b(?:content|text|prompt|input|image|message|request|response)s?\b.{0,60}\b(?:sensitive|inappropriate|harmful|unsafe|violat\w+|blocked)\b/i,
  /敏感|违规|违法|违反|不当内容|不安全|内容安全|安全审核|内容审核|コンテンツポリシー|不適切/,
  // The account.
  /insufficient|billing|\bbalance\b|\bquota\b|\bcredits?\b|\bpayment\b|arrear|overdue|good standing|余额|欠费|账户|配额/i,
  // The model.
  /(?:model|deployment)s?(?: (?:id|name))?\s*[:=]?\s*(?:['"`“‘][^'"`”’]{0,120}['"`”’]|[\w./:@-]*[\d/:][\w./:@-]*)?,? (?:was |is |could |does |has )?(?:been )?(?:not? (?:be )?(?:found|exist|available)|not (?:a )?valid|unknown|unavailable|invalid|deprecated|retired|decommissioned)\b|\bmodel\b.{0,60}\b(?:decommissioned|retired)\b/i,
  /\b(?:unknown|invalid|no such|not a valid) (?:model|deployment)\b(?! (?:param|arg|option|field|setting))|model_not_|(?:access|entitled) to (?:the |this )?model|no (?:deployments|endpoints|instances)\b.{0,30}\b(?:found|available)/i,
  /模型.{0,40}(?:不存在|未找到|已下线|无效)|(?:无效|未知)的?模型/,
  // Its context.
  /context (?:length|window|size|limit)|too many tokens|token limit|\b(?:input|prompt|conversation)\b.{0,30}\btoo (?:long|large)\b|上下文|(?:输入|提示词?).{0,12}(?:过长|超长|超过|超出)/i,
  // Its time.
  /\btimed[ -]?out\b|\b(?:request|connection|gateway|upstream|read|server) time-?out\b|deadline exceeded|超时/i,
];
/** There are too many of them, or they are too long, and nothing of it is for the gateway to leave out. */
const TOO_MUCH =
  /(?:array|string|list) too long|\bmax(?:imum)? (?:length|number|count) (?:of )?\d+|\b(?:maximum of|at most|up to|more than|too many|limit of|exceeds?)\s+(?:\d+ )?(?:[\w-]+ )?(?:blocks|tools|functions|messages|images|items|elements|entries|breakpoints)/i;

/** How servers report with status 500 that they could not begin. */
const UNREAD =
  /\bjinja\b|chat template|conversation roles must alternate|rendering prompt|unexpected keyword argument|cannot unmarshal|failed to (?:parse|deserialize)/i;

export function ideasOf(text: string): RefusalIdeas {
  const forms = new Set<FormName>();
  // The thinking is what the client sees less of.
  if (THINKING.test(text) && FORCED.test(text)) {
    for (const one of ["thinking off", "tool choice auto"] as const) forms.add(one);
  }
  for (const [words, called] of IDEAS) if (words.test(text)) { for (const one of called) forms.add(one); }
  const isFinal = saysOverflow(text) || FINAL.some((words) => words.test(text)) ||
    !forms.has("short ids of calls") && TOO_MUCH.test(text);
  return { forms: [...forms], isMissing: MISSING.test(text), isUnread: UNREAD.test(text), isFinal };
}
