import type { StructuredOutput } from "./structured-output.js";
import type { Loc } from "@heddle/errors";
import { HeddleError, mapErrors } from "@heddle/errors";
import { checkFields } from "./constraint-fields.js";
import type { GrammarBuilder } from "./ebnf.js";
import { alternation } from "./alternation.js";
import { characterClass, literal, grammarBuilder } from "./ebnf.js";
import { checkGrammarSize } from "./grammar-size.js";
import { textWriter } from "./regex/character-writer.js";
import { regexExpression } from "./regex/regex-grammar.js";
import { jsonGrammar } from "./schema/json-grammar.js";
import { schemaRule } from "./schema/schema-grammar.js";
import { structuralTagSource } from "./structural-tag.js";
import { userGrammarSource } from "./user-grammar.js";

const maxGrammarCharacters = 2_000_000;
const maxChoices = 1_024;

/** Input of xgrammar, and the schema that the finished text must satisfy. */
export type ConstraintSource = ({ grammar: string } | { structuralTag: string }) & { schema?: unknown };

/**
 * Translates a constraint. JSON schemas and regular expressions are translated to grammars here, because xgrammar
 * ignores what it does not support. Throws `invalid` or `too_large` with the location.
 */
export function constraintSource(output: StructuredOutput): ConstraintSource {
  checkFields(output);
  switch (output.type) {
    case "json_schema": {
      const grammar = grammarOf(["schema"], (builder) =>
        schemaRule(output.schema, builder, jsonGrammar(builder, ...spacingOf(output, builder))),
      );
      return { grammar, schema: output.schema };
    }
    case "json_object":
      return {
        grammar: grammarOf(["type"], (builder) => jsonGrammar(builder, ...boundedWhitespace(builder)).object()),
        schema: { type: "object" },
      };
    case "regex":
      return { grammar: regexGrammar(output.regex, ["regex"]) };
    case "choice":
      return { grammar: grammarOf(["choices"], () => choiceExpression(output.choices)) };
    case "grammar":
      return { grammar: userGrammar(output.grammar, ["grammar"]) };
    default:
      return {
        structuralTag: structuralTagSource(output.tag, {
          jsonSchema: taggedSchema,
          regex: regexGrammar,
          grammar: userGrammar,
        }),
      };
  }
}

function grammarOf(loc: Loc, root: (builder: GrammarBuilder) => string): string {
  const builder = grammarBuilder(maxGrammarCharacters);
  builder.define("root", root(builder));
  return withinSize(builder.text(), loc);
}

function userGrammar(grammar: unknown, loc: Loc): string {
  return withinSize(userGrammarSource(grammar, loc), loc);
}

function withinSize(grammar: string, loc: Loc): string {
  checkGrammarSize(grammar, loc);
  return grammar;
}

function regexGrammar(regex: string, loc: Loc): string {
  return grammarOf(loc, (builder) => regexExpression(regex, loc, builder, textWriter(builder)));
}

function taggedSchema(schema: unknown, loc: Loc): string {
  return withSchemaLoc(loc, () =>
    grammarOf(["schema"], (builder) =>
      schemaRule(schema, builder, jsonGrammar(builder, ...boundedWhitespace(builder))),
    ),
  );
}

/** Replaces the first step of an error's location, `schema`, by the location of the schema. */
function withSchemaLoc<Result>(loc: Loc, work: () => Result): Result {
  return mapErrors((error) => error.with({ loc: [...loc, ...(error.loc ?? []).slice(1)] }), work);
}

function choiceExpression(choices: unknown): string {
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new HeddleError("invalid", "A choice needs at least one text.", { loc: ["choices"] });
  }
  if (choices.length > maxChoices) {
    const sizes = `${choices.length} are given, ${maxChoices} are allowed`;
    throw new HeddleError("too_large", `The choice has too many texts: ${sizes}.`, { loc: ["choices"] });
  }
  const texts = choices.map((choice: unknown, index) => {
    if (typeof choice === "string") return choice;
    throw new HeddleError("invalid", "Every choice must be text.", { loc: ["choices", index] });
  });
  return alternation(texts.map(literal));
}

type Spacing = [space: string, separators: Parameters<typeof jsonGrammar>[2]];

function separated(space: string): Spacing {
  return [space, [`${space} "," ${space}`, `${space} ":" ${space}`]];
}

/** Characters of indentation after a line break. */
const maxIndentation = 16;

/**
 * White space as models are taught to write it: a space, or a line break with indentation, inside brackets and after a
 * comma, and a space after a colon. Without a bound a model can write nothing else until its tokens are used up.
 */
function boundedWhitespace(builder: GrammarBuilder): Spacing {
  const space = builder.rule(`(" " | "\\n" [ \\t]{0,${maxIndentation}})?`);
  return [space, [`"," ${space}`, '":" " "?']];
}

const pythonSeparators: Spacing = ['""', ['", "', '": "']];

const jsonSpaces = new Set([0x09, 0x0a, 0x0d, 0x20]);

function spacingOf(output: Extract<StructuredOutput, { type: "json_schema" }>, builder: GrammarBuilder): Spacing {
  const { whitespace, whitespacePattern } = output;
  if (whitespacePattern === undefined) return whitespace === false ? pythonSeparators : boundedWhitespace(builder);
  if (whitespace === false) {
    throw new HeddleError("invalid", "A whitespace pattern requires whitespace to be allowed.", {
      loc: ["whitespacePattern"],
    });
  }
  const space = regexExpression(whitespacePattern, ["whitespacePattern"], builder, {
    set(ranges) {
      const inside = ranges.every(([first, last]) => {
        for (let codePoint = first; codePoint <= last; codePoint++) if (!jsonSpaces.has(codePoint)) return false;
        return true;
      });
      if (!inside) throw invalidWhitespace();
      return characterClass(ranges);
    },
    grammar(text) {
      if (!/^[ \t\n\r]*$/.test(text)) throw invalidWhitespace();
      return literal(text);
    },
  });
  return separated(space);
}

function invalidWhitespace(): HeddleError {
  const reason =
    "A whitespace pattern may match only spaces, tabs and line breaks, the white space of JSON (\\s matches more).";
  return new HeddleError("invalid", reason, { loc: ["whitespacePattern"] });
}
