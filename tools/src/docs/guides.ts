import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { plainText } from "./page/markdown-text.js";

export interface Guide {
  /** File name without extension; its address on the site. */
  name: string;
  title: string;
  /** The first paragraph, for lists of guides. */
  description: string;
  /** Markdown with the examples it refers to inlined. */
  markdown: string;
}

/** Reads `guides/*.md` in the order of `guides/order.json`, which has to name each of them. */
export function readGuides(docs: string): Guide[] {
  const directory = join(docs, "guides");
  const order = JSON.parse(readFileSync(join(directory, "order.json"), "utf8")) as string[];
  const files = readdirSync(directory).filter((file) => file.endsWith(".md"));
  const forgotten = files.filter((file) => !order.includes(file.slice(0, -3)));
  if (forgotten.length > 0) throw new Error(`guides/order.json does not name ${forgotten.join(", ")}`);
  return order.map((name) => parseGuide(name, readFileSync(join(directory, `${name}.md`), "utf8"), directory));
}

function parseGuide(name: string, source: string, directory: string): Guide {
  const markdown = inlineExamples(source, directory);
  const [, title, description] = /^# (.+)\n\n([^\n#|-][^]*?)\n\n/.exec(markdown) ?? [];
  if (!title || !description) throw new Error(`guides/${name}.md: begin with a # title and one paragraph`);
  return { name, title, description: plainText(description), markdown };
}

/** A fence that names a file (` ```ts file=../examples/x.ts `) is replaced by that file, which is also compiled or run. */
function inlineExamples(markdown: string, directory: string): string {
  return markdown.replace(/^```(\w+) file=(\S+)\n```$/gm, (_, language: string, file: string) => {
    return `\`\`\`${language}\n${readFileSync(join(directory, file), "utf8").trimEnd()}\n\`\`\``;
  });
}
