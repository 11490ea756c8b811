/**
 * The lines of a comment that openapi-typescript has written, as editors render them: what follows `@description` becomes
 * text before all tags, tags that repeat the type are left out, and continued lines lose their indentation.
 */
export function docLines(comment: string): string[] {
  const items = comment
    .replace(/^\*(\n \*)? /, "")
    .trimEnd()
    .split(/\n \* (?! {4})/)
    .map((item) => item.replaceAll(/\n \* {0,5}/g, "\n"));
  const texts = items.filter((item) => !item.startsWith("@") && !item.startsWith("Format: "));
  const descriptions = items.filter((item) => item.startsWith("@description ")).map((item) => item.slice(13));
  const formats = items.filter((item) => item.startsWith("Format: ") && item !== "Format: binary");
  const tags = items.filter((item) => /^@(?!description\b|constant\b|enum\b)/.test(item));
  const text = [...texts, ...descriptions, ...formats].join("\n\n");
  return [text, ...tags]
    .filter((part) => part !== "")
    .join("\n")
    .split("\n");
}
