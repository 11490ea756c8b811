import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const repository = join(import.meta.dirname, "../..");
const directory = mkdtempSync(join(tmpdir(), "heddle-lint-"));
let findings: Record<string, string[]> = {};
let messages: Record<string, string[]> = {};

/** A package in which every file but one breaks a rule. */
const files = {
  "fine.ts": `import type { Call } from "./types.js";
import { endCall } from "./end.js";
const maxCalls = 10;
const { project_id, started_at: startedAt } = endCall();
export class Calls {
  readonly #calls: Call[] = [];
  add(call: Call): boolean {
    return this.#calls.push(call) < maxCalls && project_id === startedAt;
  }
}
`,
  "types.ts": "export type Call = string;\n",
  "end.ts": 'export const endCall = () => ({ project_id: "acme/demo", started_at: "now" });\n',
  "one.ts": 'import type { Two } from "./two.js";\nexport type One = Two[];\n',
  "two.ts": 'export type { One } from "./one.js";\nexport type Two = string;\n',
  "through.ts": 'import { made } from "./src/generated/made.js";\nexport const through = made;\n',
  "src/generated/made.ts": 'import type { through } from "../../through.js";\nexport const made: typeof through = 1;\n',
  "calls.ts": "export const calls = 1;\n",
  "calls/read.ts": "export const read = 1;\n",
  "inline.ts": 'import { type Call } from "./types.js";\nexport const call: Call = "";\n',
  "hidden.ts":
    "export class Hidden {\n  private readonly key = 1;\n  protected read() {\n    return this.key;\n  }\n}\n",
  "upper.ts": "export const MAX_CALLS = 10;\nexport const LIMIT = 10;\n",
  "slow.ts":
    'export const slow = [/^\\d+\\.?\\d*$/, new RegExp("\\\\s+$"), RegExp("^(a+)+$", "i")];\nexport const fast = [/^\\d+(?:\\.\\d*)?$/, /^\\s+/];\n',
  "slow-for-a-reason.ts":
    "// oxlint-disable-next-line heddle/no-super-linear-reg-exp -- the text is one of this service\nexport const slow = /\\s+$/;\n",
  "slow-without-a-reason.ts":
    "// oxlint-disable-next-line heddle/no-super-linear-reg-exp\nexport const slow = /\\s+$/;\n",
  "circle/package.json": '{ "name": "circle" }',
  "circle/src/model.ts": "export type Model = string;\n",
  "circle/src/rows/row.ts": 'import type { Model } from "../model.js";\nexport type Row = Model;\n',
  "circle/src/rows/limit.ts": 'export type { Page } from "../pages/page.js";\n',
  "circle/src/rows/of/calls.ts": "export const calls = 1;\n",
  "circle/src/rows/of/parts/part.ts": 'export { calls as parts } from "../calls.js";\n',
  "circle/src/pages/page.ts": 'import type { Row } from "../rows/row.js";\nexport type Page = Row;\n',
  "circle/src/pages/page.test.ts": 'import { row } from "../store.js";\nexport const tested = row;\n',
  "circle/src/store.ts": 'import type { Page } from "./pages/page.js";\nexport const row: Page = "";\n',
  "swallowed.ts":
    'import { stat } from "node:fs/promises";\nexport const isThere = async () => (await stat("a").catch(() => undefined)) !== undefined;\n',
  "src/swallowed-sync.ts": 'import { existsSync } from "node:fs";\nexport const isThere = () => existsSync("a");\n',
  "snake.ts": "export const read = (project_id: string, { limit: row_limit = 1 }) => project_id + row_limit;\n",
};

beforeAll(async () => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  const diagnostics = await lint();
  findings = byFile(diagnostics, ({ code }) => code);
  messages = byFile(diagnostics, ({ message }) => message);
}, 60_000);
afterAll(() => rmSync(directory, { recursive: true }));

test("a file in the style of the repository has no findings", () => {
  expect(findings["fine.ts"]).toBeUndefined();
});

test("files that import each other are found, through types and generated files too", () => {
  expect(findings["one.ts"]).toEqual(["import(no-cycle)"]);
  expect(findings["two.ts"]).toEqual(["import(no-cycle)"]);
  expect(findings["through.ts"]).toEqual(["import(no-cycle)"]);
  expect(findings["src/generated/made.ts"]).toBeUndefined();
});

test.each([
  ["a file next to a folder of its name", "calls.ts", ["heddle(no-file-beside-folder)"]],
  ["a type among imported values", "inline.ts", ["import(consistent-type-specifier-style)"]],
  ["private and protected members", "hidden.ts", ["heddle(no-private-keyword)", "heddle(no-private-keyword)"]],
  ["upper-case constants", "upper.ts", ["heddle(no-upper-case-names)", "heddle(no-upper-case-names)"]],
  ["snake-case parameters", "snake.ts", ["heddle(no-snake-case-names)", "heddle(no-snake-case-names)"]],
  ["regular expressions that backtrack much", "slow.ts", Array(3).fill("heddle(no-super-linear-reg-exp)")],
  ["errors of files that are taken for missing", "swallowed.ts", ["heddle(no-swallowed-file-errors)"]],
  ["the same, without waiting", "src/swallowed-sync.ts", ["heddle(no-swallowed-file-errors)"]],
  ["unless a comment says why", "slow-for-a-reason.ts", undefined],
  ["and it has to", "slow-without-a-reason.ts", ["heddle(no-super-linear-reg-exp)"]],
])("%s: found", (_, file, rules) => {
  expect(findings[file]).toEqual(rules);
});

test("folders that import each other are found where they do, by type imports too; tests are not", () => {
  const inCircle = Object.entries(findings).filter(([file]) => file.startsWith("circle/"));
  expect(Object.fromEntries(inCircle)).toEqual({
    "circle/src/rows/limit.ts": ["heddle(no-folder-circle)"],
    "circle/src/pages/page.ts": ["heddle(no-folder-circle)"],
  });
  expect(messages["circle/src/rows/limit.ts"]).toEqual([
    "rows/ and pages/ import each other: rows/limit.ts imports pages/page.ts, pages/page.ts imports rows/row.ts.",
  ]);
});

interface Diagnostic {
  code: string;
  filename: string;
  message: string;
}

/** What the repository's own configuration finds. */
async function lint(): Promise<Diagnostic[]> {
  const ignored = ["--ignore-pattern", "src/generated/**"];
  const args = ["--config", join(repository, ".oxlintrc.json"), ...ignored, "--format", "json"];
  const output = await new Promise<string>((resolve) => {
    execFile(join(repository, "node_modules/.bin/oxlint"), args, { cwd: directory }, (_, stdout) => resolve(stdout));
  });
  return (JSON.parse(output) as { diagnostics: Diagnostic[] }).diagnostics;
}

function byFile(
  diagnostics: readonly Diagnostic[],
  text: (diagnostic: Diagnostic) => string,
): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const diagnostic of diagnostics) (found[diagnostic.filename] ??= []).push(text(diagnostic));
  return found;
}
