/** A plugin of `deno lint` that reports where the comments are. A release is built without them. */
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
  },
} satisfies Deno.lint.Plugin;
