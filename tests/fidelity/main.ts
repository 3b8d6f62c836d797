/** Writes the tables of docs/fidelity.md; with `--check` it only says whether they are current. */
import { writePart } from "../support/generated_page.ts";
import { renderTables } from "./table.ts";

await writePart({ path: "docs/fidelity.md", task: "fidelity", render: renderTables });
