import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openChatModel } from "../test/chat-model.js";
import type { ChatRequest } from "./template.js";

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), "utf8");
const cases = JSON.parse(await read("../scripts/templates/cases.json")) as Record<string, ChatRequest>;
/** What the reference renders: `scripts/templates/render.py fixtures` writes it. */
const rendered = JSON.parse(await read("../fixtures/rendered.json")) as {
  template: string;
  case: string;
  text?: string;
}[];

const now = () => new Date(2026, 6, 4, 13, 5, 9);
const tokens = { bos_token: "<s>", eos_token: "</s>" };

test.each(rendered)("$template renders the case $case as transformers does", async ({ template, text, ...one }) => {
  const model = await openChatModel(await read(`../${template}.jinja`), undefined, { trusted: true, now });
  const request = cases[one.case];
  if (!request) throw new Error(`no case ${one.case}`);
  const rendering = model.renderText({ ...request, kwargs: { ...tokens, ...(request.kwargs as object) } });
  if (text === undefined) await expect(rendering).rejects.toMatchObject({ code: "invalid" });
  else expect(await rendering).toBe(text);
});
