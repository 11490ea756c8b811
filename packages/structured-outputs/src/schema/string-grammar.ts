import { HeddleError } from "@heddle/errors";
import { literal } from "../ebnf.js";
import { automatonExpression } from "../regex/automaton.js";
import { parseRegex } from "../regex/parse-regex.js";
import { plainExpression, regexExpression } from "../regex/regex-grammar.js";
import { ofLength } from "../regex/regex-length.js";
import { regexTerm } from "../regex/regex-terms.js";
import type { Term } from "../regex/terms.js";
import { Terms } from "../regex/terms.js";
import type { Parts } from "./conjunction.js";
import { having } from "./conjunction.js";
import { boundedFormat, formats } from "./formats.js";
import type { GrammarContext } from "./grammar-context.js";
import { jsonString } from "./json-grammar.js";
import { countKeyword, invalidSchema, pointerTo, schemaLoc } from "./keywords.js";

const maxLength = 10_000;
/** The length of texts with a format where longer ones need too many states. */
const shorterLength = 32;

interface Source {
  source: string;
  /** Pointer of the keyword. */
  at: string;
  /** The name of a format. */
  name?: string;
}

interface Texts {
  patterns: Source[];
  formats: Source[];
  min: number;
  max: number | undefined;
  /** Pointer of the keyword of a length, if there is one. */
  lengthAt: string | undefined;
}

/** Writes strings of all given patterns, known formats and lengths. */
export function stringBody(parts: Parts, { builder, json, automata }: GrammarContext): string {
  const texts = withinLength(textsOf(parts));
  const { min, max, lengthAt } = texts;
  const sources = [...texts.patterns, ...texts.formats];
  const quote = literal('"');
  const [only] = sources;
  if (!only) {
    if (lengthAt === undefined) return json.string();
    if (max === 0) return `${quote} ${quote}`;
    return `${quote} ${json.unescapedCharacter}{${min},${max ?? ""}} ${quote}`;
  }
  const writer = jsonString(builder);
  const loc = schemaLoc(only.at);
  if (sources.length === 1 && lengthAt === undefined) {
    return `${quote} ${regexExpression(only.source, loc, builder, writer)} ${quote}`;
  }
  const counted = sources.length === 1 ? ofLength(parseRegex(only.source, loc), min, max) : undefined;
  if (counted) return `${quote} ${plainExpression(counted, loc, writer)} ${quote}`;
  const key = JSON.stringify(
    [texts.patterns, texts.formats].map((list) => list.map(({ source }) => source)).concat([[`${min} ${max}`]]),
  );
  const expression = automata.get(key) ?? intersection(texts);
  automata.set(key, expression);
  return `${quote} ${expression} ${quote}`;

  function fits(source: string, at: string): boolean {
    const regex = parseRegex(source, schemaLoc(at));
    return ofLength(regex, min, max) === regex;
  }

  function intersection({ patterns, formats: known }: Texts): string {
    const at = schemaLoc(lengthAt ?? only?.at ?? "#");
    const longest = max ?? Number.POSITIVE_INFINITY;
    const shorter = known.length > 0 && shorterLength < longest && shorterLength >= min ? [shorterLength] : [];
    // A pattern describes the whole string, unless it can only be found in one.
    for (const search of [false, true]) {
      const terms = new Terms();
      const all = [...patterns, ...known].map((each, index) =>
        regexTerm(
          parseRegex(each.source, schemaLoc(each.at)),
          terms,
          schemaLoc(each.at),
          search && index < patterns.length,
        ),
      );
      for (const [index, length] of [longest, ...shorter].entries()) {
        try {
          // What one expression ensures needs no states of its own.
          const isEnsured = length === longest && sources.some(({ source, at: of }) => fits(source, of));
          const term = terms.both([...all, ...(isEnsured ? [] : [terms.ofLength(min, length)])]);
          const expression = automatonExpression(term, terms, builder, writer, at);
          if (expression !== undefined) return expression;
          break;
        } catch (error) {
          if (!(error instanceof HeddleError) || error.code !== "too_large" || index === shorter.length) throw error;
        }
      }
    }
    throw new HeddleError("invalid", "The JSON schema cannot be used: no text satisfies all of its keywords.", {
      loc: at,
    });
  }
}

/** Replaces formats of any length by those of bounded length. */
function withinLength(texts: Texts): Texts {
  const { max, formats: known } = texts;
  if (max === undefined) return texts;
  const bounded = known.map((each) => ({ ...each, source: boundedFormat(each.name ?? "", max) ?? each.source }));
  return { ...texts, formats: bounded };
}

/** Returns the names of members that the schemas allow, of which none is JSON's spelling. */
export function nameTerm(parts: Parts, terms: Terms): Term {
  const { patterns, formats: known, min, max } = textsOf(parts);
  const term = ({ source, at }: Source, search: boolean): Term =>
    regexTerm(parseRegex(source, schemaLoc(at)), terms, schemaLoc(at), search);
  return terms.both([
    ...patterns.map((each) => term(each, true)),
    ...known.map((each) => term(each, false)),
    terms.ofLength(min, max ?? Number.POSITIVE_INFINITY),
  ]);
}

function textsOf(parts: Parts): Texts {
  const patterns = having(parts, "pattern").map(({ schema, pointer }): Source => {
    const at = pointerTo(pointer, "pattern");
    if (typeof schema.pattern !== "string") throw invalidSchema(at, "pattern must be text");
    return { source: schema.pattern, at };
  });
  const known = having(parts, "format").flatMap(({ schema, pointer }): Source[] => {
    const at = pointerTo(pointer, "format");
    if (typeof schema.format !== "string") throw invalidSchema(at, "format must be text");
    const source = formats.get(schema.format);
    return source === undefined ? [] : [{ source, at, name: schema.format }];
  });
  let min = 0;
  let max: number | undefined;
  let lengthAt: string | undefined;
  for (const { schema, pointer } of parts) {
    const least = countKeyword(schema, "minLength", pointer, maxLength);
    const most = countKeyword(schema, "maxLength", pointer, maxLength);
    if (least !== undefined || most !== undefined)
      lengthAt = pointerTo(pointer, most === undefined ? "minLength" : "maxLength");
    min = Math.max(min, least ?? 0);
    if (most !== undefined) max = Math.min(max ?? most, most);
  }
  if (lengthAt !== undefined && max !== undefined && max < min)
    throw invalidSchema(lengthAt, "maxLength is below minLength");
  const distinct = (sources: Source[]) => [...new Map(sources.map((each) => [each.source, each])).values()];
  return { patterns: distinct(patterns), formats: distinct(known), min, max, lengthAt };
}
