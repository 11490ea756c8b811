import type { Operation } from "../model/model.js";

/** What an editor shows of an operation: the texts of the spec, then method and path. */
export function docComment(operation: Operation): string[] {
  const { summary, description, method, path, extension, deprecated } = operation;
  const notes = [
    `\`${method.toUpperCase()} ${path}\``,
    ...(operation.public ? ["needs no key"] : []),
    ...(extension ? ["an extension of the interface"] : []),
  ];
  const paragraphs = [summary, description.trim(), notes.join("; ")].filter((text) => text !== "");
  const lines = paragraphs.join("\n\n").replaceAll("*/", "*\\/").split("\n");
  return ["/**", ...[...lines, ...(deprecated ? ["@deprecated"] : [])].map((line) => ` * ${line}`.trimEnd()), " */"];
}
