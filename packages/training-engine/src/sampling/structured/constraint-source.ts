import { EngineError } from "../../engine-error.js";
import type { StructuredOutput } from "../../port.js";
import { checkFields } from "./constraint-fields.js";
import { characterClass, literal, oneOf, type RuleBook, ruleBook } from "./ebnf.js";
import { plainText, regexExpression } from "./regex/regex-grammar.js";
import { jsonText } from "./schema/json-text.js";
import { schemaRule } from "./schema/schema-grammar.js";
import { structuralTagSource } from "./structural-tag.js";
import { userGrammarSource } from "./user-grammar.js";

const maxGrammarCharacters = 2_000_000;
const maxChoices = 1_024;

/** What xgrammar is given, and the schema that the finished text must satisfy. */
export type ConstraintSource = ({ grammar: string } | { structuralTag: string }) & { schema?: unknown };

/**
 * Translates a constraint. JSON schemas and regular expressions become grammars written here, because xgrammar's own translation
 * silently widens what it does not know. Rejects with `invalid` or `too_large` and the place.
 */
export function constraintSource(output: StructuredOutput): ConstraintSource {
  checkFields(output);
  switch (output.type) {
    case "json_schema": {
      const spacing = spacingOf(output);
      const grammar = grammarOf((book) => schemaRule(output.schema, book, jsonText(book, ...spacing)));
      return { grammar, schema: output.schema };
    }
    case "json_object":
      return { grammar: grammarOf((book) => jsonText(book, ...anySpace).object()), schema: { type: "object" } };
    case "regex":
      return { grammar: regexGrammar(output.regex, "regex") };
    case "choice":
      return { grammar: grammarOf(() => choiceExpression(output.choices)) };
    case "grammar":
      return { grammar: userGrammarSource(output.grammar, "grammar") };
    default:
      return {
        structuralTag: structuralTagSource(output.tag, {
          jsonSchema: taggedSchema,
          regex: regexGrammar,
          grammar: userGrammarSource,
        }),
      };
  }
}

function grammarOf(root: (book: RuleBook) => string): string {
  const book = ruleBook(maxGrammarCharacters);
  book.define("root", root(book));
  return book.text();
}

function regexGrammar(regex: string, path: string): string {
  return grammarOf((book) => regexExpression(regex, path, plainText(book)));
}

function taggedSchema(schema: unknown, path: string): string {
  return inPlace(path, () => grammarOf((book) => schemaRule(schema, book, jsonText(book, ...anySpace))));
}

/** The place of a schema inside something else stands before the place in the schema. */
function inPlace<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new EngineError(error.code, error.message, `${path}${error.path?.replace(/^schema/, "") ?? ""}`);
  }
}

function choiceExpression(choices: unknown): string {
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new EngineError("invalid", "A choice needs at least one text to choose.", "choices");
  }
  if (choices.length > maxChoices) {
    const sizes = `${choices.length} are given, ${maxChoices} are allowed`;
    throw new EngineError("too_large", `The choice has too many texts: ${sizes}.`, "choices");
  }
  const texts = choices.map((choice: unknown, index) => {
    if (typeof choice === "string") return choice;
    throw new EngineError("invalid", "Every choice must be text.", `choices.${index}`);
  });
  return oneOf(texts.map(literal));
}

type Spacing = [space: string, separators: Parameters<typeof jsonText>[2]];

function separated(space: string): Spacing {
  return [space, [`${space} "," ${space}`, `${space} ":" ${space}`]];
}
const anySpace = separated(String.raw`[ \n\r\t]*`);
const onePythonStyleSpace: Spacing = ['""', ['", "', '": "']];

const jsonSpaces = new Set([0x09, 0x0a, 0x0d, 0x20]);

function spacingOf(output: Extract<StructuredOutput, { type: "json_schema" }>): Spacing {
  const { whitespace, whitespacePattern } = output;
  if (whitespacePattern === undefined) return whitespace === false ? onePythonStyleSpace : anySpace;
  if (whitespace === false) {
    throw new EngineError("invalid", "A whitespace pattern needs whitespace to be allowed.", "whitespacePattern");
  }
  const space = regexExpression(whitespacePattern, "whitespacePattern", {
    set(ranges) {
      const inside = ranges.every(([first, last]) => {
        for (let codePoint = first; codePoint <= last; codePoint++) if (!jsonSpaces.has(codePoint)) return false;
        return true;
      });
      if (!inside) throw notJsonSpace();
      return characterClass(ranges);
    },
    text(text) {
      if (!/^[ \t\n\r]*$/.test(text)) throw notJsonSpace();
      return literal(text);
    },
  });
  return separated(space);
}

function notJsonSpace(): EngineError {
  const reason =
    "A whitespace pattern may match only blanks, tabs and ends of lines: JSON knows no others (\\s has more).";
  return new EngineError("invalid", reason, "whitespacePattern");
}
