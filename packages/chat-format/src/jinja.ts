import * as library from "@huggingface/jinja";

/** Value of a template expression. `type` is its class: StringValue, ArrayValue, NamespaceValue… */
export interface RuntimeValue {
  type: string;
  value: unknown;
}

/** The variables of a scope. */
export interface Scope {
  set(name: string, value: unknown): RuntimeValue;
}

/** A node of the syntax tree, with the fields that this package reads. */
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

// The declarations of the package import modules by names that this module resolution does not find.
export const { Environment, Interpreter, tokenize, parse } = library as unknown as Jinja;
