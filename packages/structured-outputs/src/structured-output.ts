/** At most one constraint on the text of a completion. */
export type StructuredOutput =
  | { type: "json_schema"; schema: unknown; whitespace?: boolean; whitespacePattern?: string }
  | { type: "json_object" }
  | { type: "regex"; regex: string }
  | { type: "choice"; choices: string[] }
  | { type: "grammar"; grammar: string }
  | { type: "structural_tag"; tag: unknown };
