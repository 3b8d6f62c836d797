import type { JsonObject } from "../../src/canonical/json.ts";

export interface ClientTool {
  /** The types that name it; the date at the end is its version. */
  types: RegExp;
  description: string;
  parameters: JsonObject;
}

const text = (description: string): JsonObject => ({ type: "string", description });

/**
 * Tools that the client runs and whose schema the vendor keeps to itself: a request names them by type only. Other models
 * need their definitions.
 */
export const CLIENT_TOOLS: readonly ClientTool[] = [
  {
    types: /^bash_\d+$/,
    description: "Runs a command in a bash shell that lives as long as the conversation, and returns its output.",
    parameters: {
      type: "object",
      properties: {
        command: text("The command to run"),
        restart: { type: "boolean", description: "Restarts the shell instead" },
      },
    },
  },
  {
    types: /^text_editor_\d+$/,
    description: "Views, creates and edits files.",
    parameters: {
      type: "object",
      properties: {
        command: { type: "string", enum: ["view", "create", "str_replace", "insert"] },
        path: text("Absolute path of the file or folder"),
        file_text: text("For create: the content of the file"),
        old_str: text("For str_replace: the text to replace; it must occur once"),
        new_str: text("For str_replace: the text that takes its place"),
        insert_line: { type: "integer", description: "For insert: the line after which the text goes" },
        insert_text: text("For insert: the text"),
        view_range: {
          type: "array",
          items: { type: "integer" },
          description: "For view: the first and the last line; -1 for the end",
        },
      },
      required: ["command", "path"],
    },
  },
  {
    types: /^memory_\d+$/,
    description: "Keeps notes in files under /memories that outlive the conversation.",
    parameters: {
      type: "object",
      properties: {
        command: { type: "string", enum: ["view", "create", "str_replace", "insert", "delete", "rename"] },
        path: text("Path under /memories"),
        file_text: text("For create: the content of the file"),
        old_str: text("For str_replace: the text to replace"),
        new_str: text("For str_replace: the text that takes its place"),
        insert_line: { type: "integer", description: "For insert: the line after which the text goes" },
        insert_text: text("For insert: the text"),
        old_path: text("For rename: the path so far"),
        new_path: text("For rename: the new path"),
        view_range: { type: "array", items: { type: "integer" }, description: "For view: the first and the last line" },
      },
      required: ["command"],
    },
  },
];
