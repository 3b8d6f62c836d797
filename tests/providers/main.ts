/** Writes the recipes of docs/providers.md; with `--check` it only reports whether they are current. */
import { providers } from "../../plugins/mod.ts";
import { writePart } from "../support/generated_page.ts";
import { renderProviders } from "./page.ts";

await writePart({ path: "docs/providers.md", task: "providers", render: () => renderProviders(providers) });
