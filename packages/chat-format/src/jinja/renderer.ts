import type { Budget } from "./budget.js";
import { Expressions } from "./expressions.js";
import { setAttribute } from "./globals.js";
import { Loop } from "./loop.js";
import { toText } from "./python-text.js";
import { Scope } from "./scope.js";
import type { Expression, ForStatement, MacroDefinition, Statement, Target } from "./syntax.js";
import { TemplateError } from "./template-error.js";
import type { Arguments, Value } from "./values.js";
import { Callable, Namespace, Tuple, isTrue, iterate } from "./values.js";

/** Text that statements write. */
interface Output {
  text: string;
}

type Jump = "break" | "continue" | undefined;

/** Runs the statements of a template, within a budget. */
export class Renderer {
  readonly #budget: Budget;
  readonly #expressions: Expressions;

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#expressions = new Expressions(budget);
  }

  /** Runs statements in a scope of their own and returns the text. */
  render(body: readonly Statement[], scope: Scope): string {
    const output = { text: "" };
    this.#runAll(body, new Scope(scope), output);
    return output.text;
  }

  #runAll(body: readonly Statement[], scope: Scope, output: Output): Jump {
    for (const statement of body) {
      const jump = this.#run(statement, scope, output);
      if (jump) return jump;
    }
    return undefined;
  }

  #run(statement: Statement, scope: Scope, output: Output): Jump {
    this.#budget.spend(1);
    switch (statement.type) {
      case "text":
        return this.#write(output, statement.text);
      case "print":
        return this.#write(output, toText(this.#evaluate(statement.value, scope), this.#budget));
      case "if": {
        const branch = isTrue(this.#evaluate(statement.condition, scope)) ? statement.whenTrue : statement.otherwise;
        return this.#budget.nest(() => this.#runAll(branch, scope, output));
      }
      case "for":
        return this.#budget.nest(() =>
          this.#runLoop(statement, this.#evaluate(statement.iterable, scope), 0, scope, output),
        );
      case "set":
        return this.#assign(statement.target, this.#evaluate(statement.value, scope), scope);
      case "setBlock": {
        const text = this.#budget.nest(() => this.render(statement.body, scope));
        return this.#assign(statement.target, this.#filtered(statement.filter, text, scope), scope);
      }
      case "filterBlock": {
        const text = this.#budget.nest(() => this.render(statement.body, scope));
        return this.#write(output, toText(this.#filtered(statement.filter, text, scope), this.#budget));
      }
      case "with": {
        const inner = new Scope(scope);
        const values = statement.targets.map(([, value]) => this.#evaluate(value, scope));
        for (const [at, [target]] of statement.targets.entries()) this.#assign(target, values[at], inner);
        return this.#budget.nest(() => this.#runAll(statement.body, inner, output));
      }
      case "generation":
        this.#budget.nest(() => this.#runAll(statement.body, new Scope(scope), output));
        return undefined;
      case "macro":
        scope.set(statement.macro.name, this.#macro(statement.macro, scope));
        return undefined;
      case "callBlock":
        return this.#write(output, toText(this.#callBlock(statement, scope), this.#budget));
      default:
        return statement.type;
    }
  }

  #write(output: Output, text: string): undefined {
    this.#budget.checkLength(output.text.length + text.length);
    this.#budget.read(text.length);
    output.text += text;
  }

  #evaluate(expression: Expression, scope: Scope): Value {
    return this.#expressions.evaluate(expression, scope);
  }

  #filtered(filter: Expression | undefined, text: string, scope: Scope): Value {
    return filter ? this.#evaluate(applied(filter, text), scope) : text;
  }

  #runLoop(statement: ForStatement, iterable: Value, depth0: number, scope: Scope, output: Output): Jump {
    const items = this.#loopItems(statement, iterable, scope);
    if (items.length === 0) return this.#runAll(statement.otherwise, new Scope(scope), output);
    const recurse = (inner: Value, depth: number): string => {
      const nested = { text: "" };
      this.#runLoop(statement, inner, depth, scope, nested);
      return nested.text;
    };
    const loop = new Loop({ items, depth0, budget: this.#budget, recurse: statement.recursive ? recurse : undefined });
    for (const [index, item] of items.entries()) {
      this.#budget.spend(1);
      loop.moveTo(index);
      const inner = new Scope(scope);
      inner.set("loop", loop);
      this.#assign(statement.target, item, inner);
      if (this.#runAll(statement.body, inner, output) === "break") break;
    }
    return undefined;
  }

  #loopItems({ target, condition }: ForStatement, iterable: Value, scope: Scope): readonly Value[] {
    const items = this.#budget.list(iterate(iterable, this.#budget));
    if (!condition) return items;
    return items.filter((item) => {
      const inner = new Scope(scope);
      this.#assign(target, item, inner);
      return isTrue(this.#evaluate(condition, inner));
    });
  }

  #assign(target: Target, value: Value, scope: Scope): undefined {
    if (target.type === "name") {
      scope.set(target.name, value);
    } else if (target.type === "attribute") {
      const namespace = scope.get(target.object);
      if (!(namespace instanceof Namespace)) {
        throw new TemplateError("cannot assign attribute on non-namespace object");
      }
      setAttribute(namespace, target.name, value);
    } else {
      const items = iterate(value, this.#budget);
      if (items.length !== target.items.length) {
        throw new TemplateError(`expected ${target.items.length} values to unpack, got ${items.length}`);
      }
      for (const [at, each] of target.items.entries()) this.#assign(each, items[at], scope);
    }
  }

  #callBlock({ call, caller }: Statement & { type: "callBlock" }, scope: Scope): Value {
    const callee = this.#evaluate(call.callee, scope);
    const { positional, named } = this.#expressions.arguments(call.args, scope);
    const withCaller = new Map([...named, ["caller", this.#macro(caller, scope)] as const]);
    return this.#expressions.call(callee, { positional, named: withCaller });
  }

  #macro(macro: MacroDefinition, scope: Scope): Callable {
    return new Callable(macro.name, (args) => this.#budget.nest(() => this.#runMacro(macro, args, scope)));
  }

  #runMacro({ name, parameters, body, reads }: MacroDefinition, args: Arguments, scope: Scope): string {
    const inner = new Scope(scope);
    const named = new Map(args.named);
    for (const [at, parameter] of parameters.entries()) {
      const isGiven = at < args.positional.length || named.has(parameter.name);
      const given = at < args.positional.length ? args.positional[at] : named.get(parameter.name);
      if (at >= args.positional.length) named.delete(parameter.name);
      inner.set(parameter.name, isGiven || !parameter.value ? given : this.#evaluate(parameter.value, inner));
    }
    const rest = args.positional.slice(parameters.length);
    if (rest.length > 0 && !reads.has("varargs")) {
      throw new TemplateError(`macro '${name}' takes not more than ${parameters.length} argument(s)`);
    }
    if (reads.has("caller")) {
      inner.set("caller", named.get("caller"));
      named.delete("caller");
    }
    const [unknown] = named.keys();
    if (unknown !== undefined && !reads.has("kwargs")) {
      throw new TemplateError(`macro '${name}' takes no keyword argument '${unknown}'`);
    }
    if (reads.has("varargs")) inner.set("varargs", new Tuple(rest));
    if (reads.has("kwargs")) inner.set("kwargs", new Map(named));
    return this.render(body, inner);
  }
}

/** Gives the innermost filter of a block the text of the block. */
function applied(filter: Expression, text: string): Expression {
  if (filter.type !== "filter") return filter;
  return { ...filter, value: filter.value ? applied(filter.value, text) : { type: "constant", value: text } };
}
