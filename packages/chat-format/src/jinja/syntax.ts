/** A node of an expression. */
export type Expression =
  | { type: "constant"; value: null | boolean | string | number | bigint; float?: boolean }
  | { type: "name"; name: string }
  | { type: "list"; items: Expression[] }
  | { type: "tuple"; items: Expression[] }
  | { type: "dict"; entries: [key: Expression, value: Expression][] }
  | { type: "attribute"; object: Expression; name: string }
  | { type: "item"; object: Expression; key: Expression }
  | { type: "slice"; object: Expression; start?: Expression; stop?: Expression; step?: Expression }
  | { type: "call"; callee: Expression; args: Argument[] }
  /** Without `value`, the filter applies to the body of its block. */
  | { type: "filter"; name: string; value?: Expression; args: Argument[] }
  | { type: "test"; name: string; value: Expression; args: Argument[] }
  | { type: "not" | "negative" | "positive"; value: Expression }
  | { type: "and" | "or"; left: Expression; right: Expression }
  | { type: "binary"; operator: BinaryOperator; left: Expression; right: Expression }
  | { type: "concat"; items: Expression[] }
  | { type: "compare"; first: Expression; rest: [operator: Comparison, value: Expression][] }
  | { type: "if"; condition: Expression; whenTrue: Expression; otherwise?: Expression };

export type BinaryOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**";
export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";

export interface Argument {
  value: Expression;
  name?: string;
  /** `*value` or `**value`. */
  spread?: "list" | "dict";
}

/** What a loop or an assignment sets: a variable, an attribute of a namespace, or several. */
export type Target =
  | { type: "name"; name: string }
  | { type: "attribute"; object: string; name: string }
  | { type: "tuple"; items: Target[] };

export interface Parameter {
  name: string;
  value?: Expression;
}

export interface MacroDefinition {
  name: string;
  parameters: Parameter[];
  body: Statement[];
  /** Names that the body reads; `varargs`, `kwargs` and `caller` decide what the macro accepts. */
  reads: ReadonlySet<string>;
}

export type Statement =
  | { type: "text"; text: string }
  | { type: "print"; value: Expression }
  | { type: "if"; condition: Expression; whenTrue: Statement[]; otherwise: Statement[] }
  | ForStatement
  | { type: "set"; target: Target; value: Expression }
  | { type: "setBlock"; target: Target; filter?: Expression; body: Statement[] }
  | { type: "with"; targets: [Target, Expression][]; body: Statement[] }
  | { type: "filterBlock"; filter: Expression; body: Statement[] }
  | { type: "macro"; macro: MacroDefinition }
  | { type: "callBlock"; call: Expression & { type: "call" }; caller: MacroDefinition }
  /** Marks text that the model generates; a scope of its own. */
  | { type: "generation"; body: Statement[] }
  | { type: "break" | "continue" };

export interface ForStatement {
  type: "for";
  target: Target;
  iterable: Expression;
  condition?: Expression;
  recursive: boolean;
  body: Statement[];
  otherwise: Statement[];
}
