/**
 * The house's own lint rules, run by `deno lint`: what a reviewer would otherwise have to repeat. They hold for the program,
 * `src/` and `plugins/`; `forbidden-word` holds for the tests, too, and `plain-comment` in the folders that it lists.
 */

/** A file that is longer is not wrong: its author is to think about it. */
const MOST_FILE_LINES = 300;
const MOST_FUNCTION_LINES = 60;
/** Ways through one function, those of the functions inside it not among them. */
const MOST_PATHS = 15;

/** Words that we have a better one for, wherever they stand in an identifier; `camelCase` counts as several words. */
const BETTER_WORDS: ReadonlyMap<string, string> = new Map([
  ["told", "emitted, sent, reported, stated"],
  ["heard", "seen, received"],
  ["road", "failover plan"],
  ["knobs", "tuning parameters"],
  ["journey", "request context"],
  ["untaken", "notProcessed"],
  ["elsewhere", "tryNextTarget"],
]);

type Functions = Deno.lint.FunctionDeclaration | Deno.lint.FunctionExpression | Deno.lint.ArrowFunctionExpression;

const isProgram = (filename: string) =>
  /[\\/](src|plugins)[\\/][^]*\.ts$/.test(filename) && !/[\\/]tests[\\/]/.test(filename);

/** Lines from the first to the last of a node. */
function linesOf({ range: [start, end] }: Deno.lint.Node, text: string): number {
  return text.slice(start, end).split("\n").length;
}

/** A function that returns nothing but one object or array, and holds no statement besides, is a table. */
function isTable({ body }: Functions): boolean {
  if (!body) return false;
  if (body.type !== "BlockStatement") return isLiteral(body);
  const [only] = body.body;
  return body.body.length === 1 && only?.type === "ReturnStatement" && only.argument !== null &&
    isLiteral(only.argument!);
}

function isLiteral({ type }: Deno.lint.Node): boolean {
  return type === "ObjectExpression" || type === "ArrayExpression";
}

const fileLength: Deno.lint.Rule = {
  create(context) {
    if (!isProgram(context.filename)) return {};
    return {
      Program(node) {
        const lines = context.sourceCode.text.trimEnd().split("\n").length;
        if (lines <= MOST_FILE_LINES) return;
        const message =
          `The file has ${lines} lines: think whether it holds two ideas; if it is one, keep it whole with ` +
          "`// deno-lint-ignore-file house/file-length -- reason`";
        context.report({ node, message });
      },
    };
  },
};

const functionLength: Deno.lint.Rule = {
  create(context) {
    if (!isProgram(context.filename)) return {};
    const check = (node: Functions) => {
      const lines = linesOf(node, context.sourceCode.text);
      if (lines <= MOST_FUNCTION_LINES || isTable(node)) return;
      context.report({
        node,
        message: `The function has ${lines} lines: split it, ${MOST_FUNCTION_LINES} is the limit`,
      });
    };
    return { FunctionDeclaration: check, FunctionExpression: check, ArrowFunctionExpression: check };
  },
};

const complexity: Deno.lint.Rule = {
  create(context) {
    if (!isProgram(context.filename)) return {};
    const paths: number[] = [];
    const enter = () => void paths.push(1);
    const leave = (node: Functions) => {
      const count = paths.pop()!;
      if (count < MOST_PATHS) return;
      context.report({
        node,
        message: `The function has ${count} ways through it: split it, fewer than ${MOST_PATHS} are allowed`,
      });
    };
    const branch = () => {
      if (paths.length > 0) paths[paths.length - 1]!++;
    };
    return {
      FunctionDeclaration: enter,
      FunctionExpression: enter,
      ArrowFunctionExpression: enter,
      "FunctionDeclaration:exit": leave,
      "FunctionExpression:exit": leave,
      "ArrowFunctionExpression:exit": leave,
      IfStatement: branch,
      ConditionalExpression: branch,
      ForStatement: branch,
      ForInStatement: branch,
      ForOfStatement: branch,
      WhileStatement: branch,
      DoWhileStatement: branch,
      CatchClause: branch,
      LogicalExpression: branch,
      // A table of cases is one way, however long: what is in a case is counted.
      SwitchStatement: branch,
    } as Deno.lint.LintVisitor;
  },
};

const forbiddenWord: Deno.lint.Rule = {
  create(context) {
    return {
      Identifier(node) {
        for (const word of node.name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []) {
          const better = BETTER_WORDS.get(word.toLowerCase());
          if (better) {
            context.report({ node, message: `"${node.name}": in place of "${word}" say what it is: ${better}` });
          }
        }
      },
    };
  },
};

/** Where what a request brings passes through. */
const OF_REQUESTS =
  /[\\/](plugins|src[\\/](canonical|context|contract|http|observe|inference|routing|socket|transforms|upstream))[\\/]/;

/**
 * V8 puts a function that is assigned to a field among its old objects. All that it closes over then outlives the request, a whole
 * conversation perhaps, until everything is collected, and is copied meanwhile. One that has a name, or stands in a literal, is young.
 */
const oldFunction: Deno.lint.Rule = {
  create(context) {
    if (!isProgram(context.filename) || !OF_REQUESTS.test(context.filename)) return {};
    return {
      AssignmentExpression({ left, right }) {
        const isFunction = right.type === "ArrowFunctionExpression" || right.type === "FunctionExpression";
        if (!isFunction || left.type !== "MemberExpression") return;
        const { property } = left;
        // The platform's own objects have no other place for them.
        if (property.type === "Identifier" && /^on[a-z]/.test(property.name)) return;
        const message =
          "A function that is assigned to a field outlives the request: name it first, or write it into a literal";
        context.report({ node: right, message });
      },
    };
  },
};

/** The folders whose comments `plain-comment` checks, wherever a folder of that name stands: `tests/plugins` is one of them. */
const PLAIN_FOLDERS = ["src", "plugins", "tests/support"];

interface Habit {
  /** Matches the beginning of a sentence. */
  readonly begins: RegExp;
  /** Whether it only matters where a documentation comment begins. */
  readonly first?: true;
  readonly better: string;
}

/** Beginnings of sentences that have to be read twice. */
const HABITS: readonly Habit[] = [
  {
    begins: /^Of /,
    better:
      'begin with the subject, or with "For" or "In": "A stream keeps its usage", not "Of a stream the usage is kept"',
  },
  {
    begins:
      /^The same(?=$|[.,:;]| (?:after|again|as|at|by|directly|for|if|in|of|on|once|out|where|whole|with|without)\b)/,
    better: 'name what is the same: "Like `price`, but for audio", not "The same for audio"',
  },
  { begins: /^Who(?:ever)? /, better: 'say who: "A caller that …", "A client that …", "The process that …"' },
  {
    begins: /^(?:Neither|Nor) (?:are|can|do|does|has|have|is|may|was|were) /,
    better: 'begin with the subject: "Sound is not changed"',
  },
  {
    begins: /^What /,
    first: true,
    better: 'name the thing: "The usage of each key", not "What keys used"; or begin with a verb: "Prices an answer"',
  },
];

interface Remark {
  readonly node: Deno.lint.LineComment | Deno.lint.BlockComment;
  readonly isDocumentation: boolean;
  text: string;
}

/** The comments of a file, with those of `//` on successive lines as one. */
function remarksIn(comments: readonly (Deno.lint.LineComment | Deno.lint.BlockComment)[], source: string): Remark[] {
  const remarks: Remark[] = [];
  let end = -1;
  for (const node of comments) {
    const text = node.value.replaceAll(/^\s*\*+ ?/gm, "").trim();
    const last = remarks.at(-1);
    const goesOn = node.type === "Line" && last?.node.type === "Line" &&
      /^\n[ \t]*$/.test(source.slice(end, node.range[0]));
    if (goesOn) last.text += ` ${text}`;
    else remarks.push({ node, isDocumentation: node.type === "Block" && node.value.startsWith("*"), text });
    end = node.range[1];
  }
  return remarks;
}

const plainComment: Deno.lint.Rule = {
  create(context) {
    const folder = new RegExp(`[\\\\/](?:${PLAIN_FOLDERS.join("|")})[\\\\/.]`);
    if (!folder.test(context.filename)) return {};
    return {
      Program() {
        const { text } = context.sourceCode;
        for (const remark of remarksIn(context.sourceCode.getAllComments(), text)) {
          const sentences = remark.text.replaceAll(/\s+/g, " ").split(/(?<=[.!?]) (?=[A-Z])/);
          for (const [at, sentence] of sentences.entries()) {
            const habit = HABITS.find(({ begins, first }) =>
              begins.test(sentence) && (!first || at === 0 && remark.isDocumentation)
            );
            if (!habit) continue;
            const begin = sentence.split(" ", 4).join(" ");
            context.report({ node: remark.node, message: `"${begin} …": ${habit.better}` });
          }
        }
      },
    };
  },
};

export default {
  name: "house",
  rules: {
    "file-length": fileLength,
    "function-length": functionLength,
    complexity,
    "forbidden-word": forbiddenWord,
    "old-function": oldFunction,
    "plain-comment": plainComment,
  },
} satisfies Deno.lint.Plugin;
