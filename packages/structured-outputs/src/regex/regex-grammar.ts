import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { GrammarBuilder } from "../ebnf.js";
import { alternation } from "../alternation.js";
import { automatonExpression } from "./automaton.js";
import type { CharacterWriter } from "./character-writer.js";
import { parseRegex } from "./parse-regex.js";
import type { Regex } from "./regex-syntax.js";
import { hasLookAhead, regexTerm } from "./regex-terms.js";
import { Terms } from "./terms.js";

const maxPositions = 50_000;

/**
 * Returns a grammar expression for texts that match `source` completely, as if between `^` and `$`. Throws `invalid` or
 * `too_large` with `loc`.
 */
export function regexExpression(source: string, loc: Loc, builder: GrammarBuilder, writer: CharacterWriter): string {
  const parsed = parseRegex(source, loc);
  if (hasLookAhead(parsed)) return lookingAhead(parsed, loc, builder, writer);
  return plainExpression(parsed, loc, writer);
}

function lookingAhead(regex: Regex, loc: Loc, builder: GrammarBuilder, writer: CharacterWriter): string {
  const terms = new Terms();
  const expression = automatonExpression(regexTerm(regex, terms, loc), terms, builder, writer, loc);
  if (expression !== undefined) return expression;
  throw new HeddleError("invalid", "No text matches the regular expression as a whole.", { loc });
}

/** Writes an expression without look-ahead. */
export function plainExpression(parsed: Regex, loc: Loc, writer: CharacterWriter): string {
  const regex = withoutAnchors(parsed, true, true, loc);
  const positions = countPositions(regex);
  if (positions > maxPositions) {
    const sizes = `${positions} positions when its counts are multiplied out, ${maxPositions} are allowed`;
    throw new HeddleError("too_large", `The regular expression is too large: ${sizes}.`, { loc });
  }
  return write(regex, writer);
}

/** Counts the characters with every repetition written out, which determine the size of the automaton. */
function countPositions(regex: Regex): number {
  switch (regex.kind) {
    case "characters":
      return 1;
    case "sequence":
      return regex.parts.reduce((sum, part) => sum + countPositions(part), 0);
    case "choice":
      return regex.options.reduce((sum, option) => sum + countPositions(option), 0);
    case "repeat":
      return Math.max(1, regex.max ?? regex.min + 1) * countPositions(regex.part);
    default:
      return 0;
  }
}

const isAnchor = (regex: Regex) => regex.kind === "start" || regex.kind === "end";

/** Removes anchors at the ends, which are redundant. Throws `invalid` for other anchors, which could not match. */
function withoutAnchors(regex: Regex, atStart: boolean, atEnd: boolean, loc: Loc): Regex {
  switch (regex.kind) {
    case "start":
    case "end": {
      if (regex.kind === "start" ? atStart : atEnd) return { kind: "sequence", parts: [] };
      const reason = `Regular expression not usable: ${regex.kind === "start" ? "^" : "$"} is in the middle of the expression.`;
      throw new HeddleError("invalid", reason, { loc });
    }
    case "sequence": {
      const first = regex.parts.findIndex((part) => !isAnchor(part));
      const last = regex.parts.findLastIndex((part) => !isAnchor(part));
      const parts = regex.parts.map((part, index) =>
        withoutAnchors(part, atStart && (first < 0 || index <= first), atEnd && index >= last, loc),
      );
      return { kind: "sequence", parts };
    }
    case "choice":
      return { kind: "choice", options: regex.options.map((each) => withoutAnchors(each, atStart, atEnd, loc)) };
    case "repeat":
      return { ...regex, part: withoutAnchors(regex.part, false, false, loc) };
    default:
      return regex;
  }
}

function write(regex: Regex, writer: CharacterWriter): string {
  switch (regex.kind) {
    case "characters":
      return writer.set(regex.ranges);
    case "sequence":
      return writeSequence(regex.parts, writer);
    case "choice":
      return alternation(regex.options.map((option) => writeOption(option, writer)));
    case "repeat":
      return writeRepeat(regex, writer);
    default:
      return '""';
  }
}

/** A sequence is written without parentheses, so that its beginning is seen. */
function writeOption(option: Regex, writer: CharacterWriter): string {
  return option.kind === "sequence" ? sequenceParts(option.parts, writer).join(" ") || '""' : write(option, writer);
}

function writeSequence(parts: Regex[], writer: CharacterWriter): string {
  const written = sequenceParts(parts, writer);
  if (written.length === 0) return '""';
  return written.length === 1 ? (written[0] ?? '""') : `(${written.join(" ")})`;
}

/** Merges adjacent single characters into one literal, which needs fewer states. */
function sequenceParts(parts: Regex[], writer: CharacterWriter): string[] {
  const written: string[] = [];
  let text = "";
  const flush = () => {
    if (text) written.push(writer.grammar(text));
    text = "";
  };
  for (const part of parts) {
    const only = onlyCharacter(part);
    if (only !== undefined) {
      text += only;
      continue;
    }
    flush();
    const expression = write(part, writer);
    if (expression !== '""') written.push(expression);
  }
  flush();
  return written;
}

function onlyCharacter(regex: Regex): string | undefined {
  if (regex.kind !== "characters" || regex.ranges.length !== 1) return undefined;
  const [first, last] = regex.ranges[0] ?? [0, -1];
  return first === last ? String.fromCodePoint(first) : undefined;
}

function writeRepeat({ part, min, max }: Extract<Regex, { kind: "repeat" }>, writer: CharacterWriter): string {
  const expression = write(part, writer);
  if (max === 0 || expression === '""') return '""';
  if (min === 1 && max === 1) return expression;
  const quantifiable = isUnit(expression) ? expression : `(${expression})`;
  if (max === undefined)
    return min === 0 ? `${quantifiable}*` : min === 1 ? `${quantifiable}+` : `${quantifiable}{${min},}`;
  if (min === 0 && max === 1) return `${quantifiable}?`;
  return `${quantifiable}{${min},${max}}`;
}

/** Returns whether a quantifier may follow directly: after a rule, a class, a literal, or one pair of parentheses. */
function isUnit(expression: string): boolean {
  return /^(r[0-9]+|\[[^\]]*\])$/.test(expression);
}
