/** The prompts that ask a model for a summary and that present one to it. */

export const SUMMARY_PROMPT =
  `The conversation above is about to be replaced by a summary, because it has become too long. Write that summary now. Whoever goes on with the work sees nothing else of what the assistant said, did and found out, so leave out nothing that is needed to go on.

Write these sections, and leave out those that have nothing in them:
1. Task: what the user wants, in their own words where the words matter, with all conditions, preferences and corrections.
2. State: what is done, what was decided and why, and what was tried and failed.
3. Facts: the names, paths, commands, values, quotations and results that matter, exactly as they were. Include short passages of code or text that the next steps depend on.
4. Open: what was being done just now, questions and errors that are not settled, and the very next step.

Write only the summary, as plain text, in the language of the conversation. Do not answer the user, do not go on with the task, and call no tool.`;

/** The summary as the model reads it in place of the earlier turns. */
export function summaryInWords(summary: string): string {
  return `The conversation before this point became too long and was replaced by the summary below. Go on from where it ends. Do not mention the summary.

<summary>
${summary}
</summary>`;
}

/** The user's latest message, added to a summary that also replaces it. */
export function latestWords(text: string): string {
  return `\n\nThe user's latest message, word for word:\n${text}`;
}
