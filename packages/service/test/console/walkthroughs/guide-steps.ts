import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

interface Step {
  text: string;
  actions: ((page: Page) => Promise<unknown>)[];
}

/** What a text tells a reader to do, in its order. */
const instructions =
  /\*\*`(?<key>[^`]+)`\*\*|[Cc]lick \*(?<click>[^*]+)\*|\*(?<option>[^*]+)\* under \*(?<select>[^*]+)\*|[Tt]ype `(?<words>[^`]+)`(?: into \*(?<field>[^*]+)\*)?/g;

/** The steps of each section of a guide, by its heading. */
export function stepsOf(guide: string): Map<string, Step[]> {
  const text = readFileSync(new URL(`../../../../docs/guides/${guide}.md`, import.meta.url), "utf8");
  const sections = text.split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      const items = lines.filter((line) => /^\d+\. /.test(line));
      return [heading, items.map((item) => ({ text: item, actions: [...item.matchAll(instructions)].map(actionOf) }))];
    }),
  );
}

function actionOf({ groups = {} }: RegExpMatchArray): (page: Page) => Promise<unknown> {
  const { key, click, option, select, words, field } = groups;
  return async (page) => {
    if (key !== undefined)
      for (const one of key.split(" ")) await page.keyboard.press(one.replaceAll("Ctrl+", "Control+"));
    else if (click !== undefined) await page.getByRole("button", { name: click }).first().click();
    else if (select !== undefined) await page.getByLabel(select, { exact: true }).selectOption({ label: option ?? "" });
    else if (field !== undefined) await page.getByLabel(field, { exact: true }).pressSequentially(words ?? "");
    else await page.keyboard.type(words ?? "");
  };
}
