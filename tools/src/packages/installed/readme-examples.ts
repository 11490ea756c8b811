import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Package → the first TypeScript example of its README, which is a whole program. */
export function readmeExamples(project: string): Record<string, string> {
  const scope = join(project, "node_modules/@heddle");
  const found: Record<string, string> = {};
  for (const folder of readdirSync(scope).toSorted()) {
    const path = join(scope, folder, "README.md");
    const [, code] = existsSync(path) ? (/^```ts[^\n]*\n([^]*?)^```$/m.exec(readFileSync(path, "utf8")) ?? []) : [];
    if (code) found[folder] = code;
  }
  return found;
}

/** What an example prints by its own comments: `console.log(x); // 3`. Empty when it states nothing. */
export function statedOutput(example: string): string {
  return [...example.matchAll(/\bconsole\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => `${text}\n`).join("");
}
