import { alternation } from "../alternation.js";
import { literal } from "../ebnf.js";
import { automatonExpression } from "../regex/automaton.js";
import type { Parts } from "./conjunction.js";
import { having } from "./conjunction.js";
import type { GrammarContext } from "./grammar-context.js";
import { jsonString, unescapedCharacters } from "./json-grammar.js";
import type { SchemaLocation } from "./keywords.js";
import { pointerTo, schemaLoc } from "./keywords.js";
import type { MemberNames, NamePattern } from "./property-names.js";
import { undeclaredKey } from "./undeclared-key.js";
import { declaresNothing, extraSchema } from "./undeclared-members.js";

/** With more patterns, no name is written that several of them match. */
const maxCombined = 4;

/** Writes a member with none of the names `written`, or returns undefined if there may be none. */
export function otherMembers(
  parts: Parts,
  written: readonly string[],
  names: MemberNames,
  depth: number,
  context: GrammarContext,
): string | undefined {
  const options = combinations(names.patterns).flatMap((matching) => {
    const schemas = schemasOf(matching, parts);
    if (!schemas || schemas.some(({ schema }) => schema === false)) return [];
    const key = keyOf(matching, written, names, parts, context);
    return key === undefined ? [] : [`${key} ${context.json.colon} ${context.rule(schemas, depth + 1)}`];
  });
  return options.length === 0 ? undefined : alternation(options);
}

/** The patterns that a name may match, first none of them. */
function combinations(patterns: readonly NamePattern[]): NamePattern[][] {
  if (patterns.length > maxCombined) return [[], ...patterns.map((pattern) => [pattern])];
  return patterns.reduce<NamePattern[][]>((all, pattern) => [...all, ...all.map((each) => [...each, pattern])], [[]]);
}

/** Returns what a member whose name matches these patterns has to satisfy, undefined if there may be none. */
function schemasOf(matching: readonly NamePattern[], parts: Parts): SchemaLocation[] | undefined {
  const schemas = parts.flatMap((part) => {
    const own = matching.filter((pattern) => pattern.part === part).map(({ location }) => location);
    return own.length > 0 ? own : (extraSchema(part, parts.length) ?? []);
  });
  return schemas.length > 0 || declaresNothing(parts) ? schemas : undefined;
}

function keyOf(
  matching: readonly NamePattern[],
  written: readonly string[],
  { terms, patterns, allowed }: MemberNames,
  parts: Parts,
  { builder, json }: GrammarContext,
): string | undefined {
  const quote = literal('"');
  if (patterns.length === 0 && allowed === undefined) {
    return written.length === 0 ? json.string() : `${quote} ${undeclaredKey(builder, written, unescapedCharacters)}`;
  }
  const [pattern] = having(parts, "patternProperties");
  const at = pattern
    ? pointerTo(pattern.pointer, "patternProperties")
    : pointerTo(having(parts, "propertyNames")[0]?.pointer ?? "#", "propertyNames");
  const term = terms.both([
    ...(allowed ? [allowed] : []),
    ...patterns.map((each) => (matching.includes(each) ? each.term : terms.not(each.term))),
    terms.not(terms.either(written.map((name) => terms.text(name)))),
  ]);
  const key = automatonExpression(term, terms, builder, jsonString(builder), schemaLoc(at));
  return key === undefined ? undefined : `${quote} ${key} ${quote}`;
}
