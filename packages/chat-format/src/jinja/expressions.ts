import type { Budget } from "./budget.js";
import { applyFilter } from "./filters.js";
import { attributeOf, itemOf, sliceOf } from "./members.js";
import { binary, compare, concatenated, negative, numberIn } from "./operators.js";
import type { Scope } from "./scope.js";
import { textArgument } from "./signature.js";
import type { Argument, Expression } from "./syntax.js";
import { TemplateError } from "./template-error.js";
import { runTest } from "./tests.js";
import type { Arguments, Value } from "./values.js";
import { Attributes, Callable, Float, Tuple, dictKey, isTrue, iterate, typeName } from "./values.js";

/** Evaluates expressions, within a budget. */
export class Expressions {
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  evaluate(expression: Expression, scope: Scope): Value {
    this.#budget.spend(1);
    switch (expression.type) {
      case "constant":
        return expression.float ? new Float(Number(expression.value)) : expression.value;
      case "name":
        // A variable of an outer block is searched in every block between.
        this.#budget.spend(scope.depth / 16);
        return scope.get(expression.name);
      default:
        return this.#budget.nest(() => this.#evaluateNested(expression, scope));
    }
  }

  #evaluateNested(expression: Exclude<Expression, { type: "constant" | "name" }>, scope: Scope): Value {
    const budget = this.#budget;
    const evaluate = (inner: Expression): Value => this.evaluate(inner, scope);
    switch (expression.type) {
      case "list":
        return expression.items.map(evaluate);
      case "tuple":
        return new Tuple(expression.items.map(evaluate));
      case "dict":
        return new Map(expression.entries.map(([key, value]) => [dictKey(evaluate(key), budget), evaluate(value)]));
      case "attribute":
        return attributeOf(this.#defined(expression.object, scope), expression.name, budget);
      case "item":
        return itemOf(this.#defined(expression.object, scope), evaluate(expression.key), budget);
      case "slice": {
        const [start, stop, step] = [expression.start, expression.stop, expression.step].map((bound) =>
          bound ? evaluate(bound) : undefined,
        );
        return sliceOf(this.#defined(expression.object, scope), { start, stop, step }, budget);
      }
      case "call":
        return this.call(this.#defined(expression.callee, scope), this.arguments(expression.args, scope));
      case "filter": {
        const value = expression.value ? evaluate(expression.value) : undefined;
        return applyFilter(expression.name, value, this.arguments(expression.args, scope), budget);
      }
      case "test": {
        const value = evaluate(expression.value);
        return runTest(expression.name, value, this.arguments(expression.args, scope), budget);
      }
      case "not":
        return !isTrue(evaluate(expression.value));
      case "negative":
        return negative(evaluate(expression.value));
      case "positive": {
        const value = evaluate(expression.value);
        if (numberIn(value) === undefined)
          throw new TemplateError(`bad operand type for unary +: '${typeName(value)}'`);
        return value;
      }
      case "and": {
        const left = evaluate(expression.left);
        return isTrue(left) ? evaluate(expression.right) : left;
      }
      case "or": {
        const left = evaluate(expression.left);
        return isTrue(left) ? left : evaluate(expression.right);
      }
      case "binary": {
        const [left, right] = [evaluate(expression.left), evaluate(expression.right)];
        if (left === undefined || right === undefined) {
          throw undefinedError(left === undefined ? expression.left : expression.right);
        }
        return binary(expression.operator, left, right, budget);
      }
      case "concat":
        return concatenated(expression.items.map(evaluate), budget);
      case "compare":
        return this.#compare(expression, scope);
      default:
        if (isTrue(evaluate(expression.condition))) return evaluate(expression.whenTrue);
        return expression.otherwise && evaluate(expression.otherwise);
    }
  }

  #compare({ first, rest }: Expression & { type: "compare" }, scope: Scope): boolean {
    let left = this.evaluate(first, scope);
    for (const [operator, expression] of rest) {
      const right = this.evaluate(expression, scope);
      if (!compare(operator, left, right, this.#budget)) return false;
      left = right;
    }
    return true;
  }

  #defined(expression: Expression, scope: Scope): Value {
    const value = this.evaluate(expression, scope);
    if (value === undefined) throw undefinedError(expression);
    return value;
  }

  arguments(args: readonly Argument[], scope: Scope): Arguments {
    const positional: Value[] = [];
    const named = new Map<string, Value>();
    for (const { name, value: expression, spread } of args) {
      const value = this.evaluate(expression, scope);
      if (name !== undefined) {
        named.set(name, value);
      } else if (spread === "list") {
        for (const item of this.#budget.list(iterate(value, this.#budget))) positional.push(item);
      } else if (spread === "dict") {
        if (!(value instanceof Map))
          throw new TemplateError(`argument after ** must be a mapping, not ${typeName(value)}`);
        this.#budget.makeEntries(value.size);
        for (const [key, item] of value) named.set(textArgument("keyword", key), item);
      } else {
        positional.push(value);
      }
    }
    return { positional, named };
  }

  call(callee: Value, args: Arguments): Value {
    if (!(callee instanceof Callable || callee instanceof Attributes)) {
      throw new TemplateError(`'${typeName(callee)}' object is not callable`);
    }
    return this.#budget.nest(() => callee.call(args));
  }
}

function undefinedError(expression: Expression): TemplateError {
  return new TemplateError(`'${nameOf(expression)}' is undefined`);
}

function nameOf(expression: Expression): string {
  switch (expression.type) {
    case "name":
      return expression.name;
    case "attribute":
      return `${nameOf(expression.object)}.${expression.name}`;
    case "item":
      return `${nameOf(expression.object)}[${expression.key.type === "constant" ? JSON.stringify(expression.key.value) : "…"}]`;
    default:
      return "a value";
  }
}
