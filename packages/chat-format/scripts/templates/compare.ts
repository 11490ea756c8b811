/**
 * Compares the renderings of this package with those of the reference.
 *
 *     python render.py chats DIRECTORY... > rendered.jsonl
 *     node --import tsx -C @heddle/source compare.ts rendered.jsonl
 */
import { readFile } from "node:fs/promises";
import { openChatModel } from "../../test/chat-model.js";
import type { ChatTemplate } from "../../src/template.js";

interface Line {
  template: string;
  file: string;
  case: string;
  request: string;
  text?: string;
  error?: string;
}

const [input] = process.argv.slice(2);
if (input === undefined) throw new Error("usage: compare.ts rendered.jsonl");
const lines = (await readFile(input, "utf8")).split("\n").filter((line) => line !== "");
const counts = { same: 0, bothRefuse: 0, differs: 0, onlyWeRefuse: 0, onlyReferenceRefuses: 0 };
const models = new Map<string, Promise<ChatTemplate>>();

for (const line of lines) {
  const expected = JSON.parse(line) as Line;
  const known = models.get(expected.file);
  const opened = known ?? open(expected.file);
  models.set(expected.file, opened);
  const actual = await rendering(await opened, JSON.parse(expected.request));
  const outcome = compare(expected, actual);
  counts[outcome]++;
  if (outcome === "same" || outcome === "bothRefuse") continue;
  const reason =
    outcome === "differs" ? difference(expected.text ?? "", actual.text ?? "") : (expected.error ?? actual.error);
  console.log([outcome, expected.template, expected.case, reason].join("\t"));
}
console.log(`${models.size} templates, ${lines.length} renderings:`, counts);

async function open(file: string): Promise<ChatTemplate> {
  const now = () => new Date(2026, 6, 4, 13, 5, 9);
  return openChatModel(await readFile(file, "utf8"), undefined, { trusted: true, now });
}

async function rendering(model: ChatTemplate, request: { messages: unknown; kwargs?: object }) {
  const tokens = { bos_token: "<s>", eos_token: "</s>", unk_token: "<unk>", pad_token: "<pad>" };
  try {
    return { text: await model.renderText({ ...request, kwargs: { ...tokens, ...request.kwargs } }) };
  } catch (error) {
    return { error: String(error) };
  }
}

function compare(expected: Line, actual: { text?: string; error?: string }): keyof typeof counts {
  if (expected.text === undefined) return actual.text === undefined ? "bothRefuse" : "onlyReferenceRefuses";
  if (actual.text === undefined) return "onlyWeRefuse";
  return actual.text === expected.text ? "same" : "differs";
}

/** The texts around their first difference. */
function difference(expected: string, actual: string): string {
  let at = 0;
  while (at < expected.length && expected[at] === actual[at]) at++;
  const around = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 30), at + 40));
  return `${around(expected)} ${around(actual)}`;
}
