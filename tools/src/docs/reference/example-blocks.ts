import { codeBlock } from "../markdown-text.js";
import type { Example } from "./examples.js";

/** The examples as JSON. */
export function exampleBlocks(examples: readonly Example[]): string[] {
  return examples.map(({ summary, value }) =>
    codeBlock("json", JSON.stringify(value, null, 2), summary === "" ? "Example" : `Example: ${summary}`),
  );
}
