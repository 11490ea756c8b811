/** A code span, also of text with backticks. */
export function codeSpan(text: string): string {
  const line = text.replaceAll(/\s*\n\s*/g, " ");
  return line.includes("`") ? `\`\` ${line} \`\`` : `\`${line}\``;
}

/** A block of code. Its title is shown above it; blocks with titles that follow each other become tabs. */
export function codeBlock(language: string, code: string, title = ""): string {
  const fence = "`".repeat(Math.max(3, ...[...code.matchAll(/^`{3,}/gm)].map(([ticks]) => ticks.length + 1)));
  return `${fence}${`${language} ${title}`.trim()}\n${code.trimEnd()}\n${fence}`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Text of one or more paragraphs on the one line that a cell has. */
function cell(text: string): string {
  return text
    .trim()
    .replaceAll("|", "\\|")
    .replaceAll(/\s*\n\s*/g, " ");
}

/** Blocks of Markdown with an empty line between them; absent and empty ones are left out. */
export function blocks(...parts: (string | undefined | readonly string[])[]): string {
  return parts
    .flat()
    .filter((part) => part !== undefined && part.trim() !== "")
    .map((part) => part!.trim())
    .join("\n\n");
}

export function firstParagraph(markdown: string): string {
  return (markdown.trim().split(/\n\s*\n/, 1)[0] ?? "").replaceAll(/\s+/g, " ");
}

export function firstSentence(markdown: string): string {
  const paragraph = firstParagraph(markdown);
  return /^.*?[.!?](?=\s|$)/.exec(paragraph)?.[0] ?? paragraph;
}

/** Inline Markdown without its marks. */
export function plainText(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
