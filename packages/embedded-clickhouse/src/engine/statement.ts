/** What the host has to know about a statement before it runs it. */
export interface StatementInfo {
  kind: "insert" | "select" | "other";
  /** The statement's own FORMAT clause; of an INSERT, the format of its data. */
  format: string | undefined;
  /** Where the data of an INSERT … FORMAT begins, in characters. */
  dataStart: number | undefined;
  /** More than one statement: the engine would run them all, a server refuses. */
  multiple: boolean;
}

interface Token {
  kind: "word" | "quoted" | "punctuation";
  text: string;
  end: number;
}

/** Reads only as much of the statement as is needed; the data of an INSERT is never looked at. */
export function describeStatement(sql: string): StatementInfo {
  let position = 0;
  let depth = 0;
  let first: string | undefined;
  let previous = "";
  let format: string | undefined;
  let inSettings = false;
  for (let token = nextToken(sql, 0); token; token = nextToken(sql, position)) {
    position = token.end;
    const word = token.kind === "word" ? token.text.toLowerCase() : token.text;
    if (word === ";" && first === undefined) continue;
    if (word === ";" && token.kind === "punctuation") {
      return {
        kind: kindOf(first),
        format,
        dataStart: undefined,
        multiple: hasStatement(sql, position),
      };
    }
    first ??= word;
    if (word === "(") depth++;
    else if (word === ")") depth--;
    else if (depth === 0) {
      if (previous === "format" && token.kind === "word") {
        format = token.text;
        inSettings = false;
      } else if (word === "settings") inSettings = true;
      else if (!inSettings) format = undefined;
      if (first === "insert" && (format !== undefined || endsInsertHead.has(word))) break;
    }
    previous = word;
  }
  const kind = kindOf(first);
  const dataStart = kind === "insert" && format !== undefined ? position : undefined;
  return { kind, format, dataStart, multiple: false };
}

/** After these words an INSERT needs no data, and is not read further. */
const endsInsertHead = new Set(["values", "select", "with"]);

function kindOf(first: string | undefined): StatementInfo["kind"] {
  if (first === "insert") return "insert";
  return first === "select" || first === "with" || first === "(" ? "select" : "other";
}

function hasStatement(sql: string, from: number): boolean {
  let token = nextToken(sql, from);
  while (token?.text === ";") token = nextToken(sql, token.end);
  return token !== undefined;
}

function nextToken(sql: string, from: number): Token | undefined {
  const start = skipBlank(sql, from);
  const character = sql[start];
  if (character === undefined) return undefined;
  if (character === "'" || character === '"' || character === "`") {
    const end = endOfQuoted(sql, start, character);
    return { kind: "quoted", text: character, end };
  }
  wordPattern.lastIndex = start;
  const word = wordPattern.exec(sql)?.[0];
  if (word) return { kind: "word", text: word, end: start + word.length };
  return { kind: "punctuation", text: character, end: start + 1 };
}

const wordPattern = /[\p{L}\p{N}_]+/uy;
const blankPattern = /\s+/y;

function skipBlank(sql: string, from: number): number {
  let position = from;
  for (;;) {
    blankPattern.lastIndex = position;
    if (blankPattern.test(sql)) position = blankPattern.lastIndex;
    if (sql.startsWith("--", position)) position = after(sql, "\n", position);
    else if (sql.startsWith("/*", position)) position = after(sql, "*/", position + 2);
    else return position;
  }
}

function endOfQuoted(sql: string, start: number, quote: string): number {
  let position = start + 1;
  while (position < sql.length) {
    const character = sql[position];
    if (character === "\\") position += 2;
    else if (character !== quote) position++;
    else if (sql[position + 1] === quote) position += 2;
    else return position + 1;
  }
  return sql.length;
}

function after(sql: string, text: string, from: number): number {
  const found = sql.indexOf(text, from);
  return found < 0 ? sql.length : found + text.length;
}
