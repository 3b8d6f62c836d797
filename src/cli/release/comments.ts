/**
 * A plugin of `deno lint` that reports where comments and templates are. A release is built without comments, and without
 * the indentation outside templates.
 */
export default {
  name: "release",
  rules: {
    comments: {
      create: (context) => ({
        Program() {
          for (const { range } of context.sourceCode.getAllComments()) context.report({ range, message: "A comment" });
        },
      }),
    },
    templates: {
      create: (context) => ({
        TemplateLiteral({ range }) {
          context.report({ range, message: "A template" });
        },
      }),
    },
  },
} satisfies Deno.lint.Plugin;
