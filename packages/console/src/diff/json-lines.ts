export interface Lines {
  lines: string[];
  /** Whether all of the text is in them. */
  isComplete: boolean;
}

const deepestIndent = 40;
/** Behind `\n` in a text, not where the backslash is one of the text. */
const textLineEnd = /(?<=(?<!\\)(?:\\\\)*\\n)(?!"$)/;

/**
 * A JSON text with a member or item a line, and a text with its own lines. Numbers, strings, order and duplicate keys stay as
 * they were sent.
 */
export function jsonLines(text: string, most = 20_000): Lines {
  const lines: string[] = [];
  let line = "";
  let depth = 0;
  const end = (then = "") => {
    lines.push(line);
    line = "  ".repeat(Math.min(depth, deepestIndent)) + then;
  };
  for (let at = 0; at < text.length;) {
    if (lines.length >= most) return { lines, isComplete: false };
    const character = text[at] ?? "";
    if (character === "{" || character === "[") {
      const next = spaceEnd(text, at + 1);
      const close = text[next] ?? "";
      if (close === "}" || close === "]") {
        line += character + close;
        at = next + 1;
      } else {
        line += character;
        depth++;
        end();
        at = next;
      }
      continue;
    }
    if (character === "}" || character === "]") {
      depth--;
      end(character);
    } else if (character === ",") {
      line += character;
      end();
    } else if (character === ":") line += ": ";
    else if (!isSpace(character)) {
      const to = character === '"' ? stringEnd(text, at) : plainEnd(text, at);
      const [first = "", ...others] = text.slice(at, to).split(textLineEnd);
      line += first;
      for (const other of others) {
        if (lines.length >= most) return { lines, isComplete: false };
        end("  ");
        line += other;
      }
      at = to;
      continue;
    }
    at++;
  }
  if (line !== "") lines.push(line);
  return { lines, isComplete: true };
}

const isSpace = (character: string): boolean => " \t\r\n".includes(character);

function spaceEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text[at] ?? "")) at++;
  return at;
}

function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Of a number or a name. */
function plainEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && !' \t\r\n,:{}[]"'.includes(text[at] ?? "")) at++;
  return at;
}
