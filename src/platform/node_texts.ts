/** Imports of texts on Node 24, which knows those of JSON alone: `import page from "./page.html" with { type: "text" }`. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

registerHooks({
  load(url, context, next) {
    if (context.importAttributes?.type !== "text") return next(url, context);
    const text = readFileSync(fileURLToPath(url), "utf8");
    return { format: "module", shortCircuit: true, source: `export default ${JSON.stringify(text)};` };
  },
});
