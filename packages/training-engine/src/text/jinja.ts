import * as library from "@huggingface/jinja";

/** What a template expression evaluates to. `type` is the class: StringValue, ArrayValue, NamespaceValue… */
export interface RuntimeValue {
  type: string;
  value: unknown;
}

/** The variables of a scope. */
export interface Scope {
  set(name: string, value: unknown): RuntimeValue;
}

/** A node of the syntax tree, with those of its fields that are looked at here. */
export interface Node {
  type: string;
  value?: unknown;
  key?: Node;
  operand?: Node;
  filter?: Node;
  callee?: Node;
  args?: Node[];
  argument?: Node;
  object?: Node;
  property?: Node;
  computed?: boolean;
  iterable?: Node;
  lhs?: Node;
  body?: Node[];
}

interface Jinja {
  Environment: new (parent?: Scope) => Scope;
  Interpreter: new (scope: Scope) => {
    run(program: Node): RuntimeValue;
    evaluate(node: Node | undefined, scope: Scope): RuntimeValue;
  };
  tokenize: (source: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }) => unknown[];
  parse: (tokens: unknown[]) => Node;
}

// Said here because the package's own declarations name modules in a way that this module resolution does not find.
export const { Environment, Interpreter, tokenize, parse } = library as unknown as Jinja;
