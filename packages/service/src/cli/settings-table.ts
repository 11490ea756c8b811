import { documentedSettings } from "../config/config.js";

const indent = " ".repeat(6);

/** Every setting with its meaning and default, in lines of at most `width` characters where the words allow it. */
export function settingsTable(width: number): string {
  return documentedSettings
    .map(({ name, default: value, meaning }) => `  ${name}  (default: ${value})\n${wrap(meaning, width)}`)
    .join("\n");
}

function wrap(text: string, width: number): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line !== indent && line.length + word.length > width) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join("\n");
}
