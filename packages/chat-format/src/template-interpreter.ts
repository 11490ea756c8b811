import type { Node, RuntimeValue, Scope } from "./jinja.js";
import { Interpreter } from "./jinja.js";
import type { TemplateLimits } from "./template-limits.js";
import { TemplateLimitError } from "./template-limits.js";
import { childrenOf, measure, runtimeValue, textIn } from "./template-values.js";

/** A node with a known value. It replaces an expression that was evaluated to check its size. */
interface EvaluatedNode extends Node {
  type: "Settled";
  value: RuntimeValue;
}

/**
 * The template engine with limits on work and size. The engine evaluates every expression through `evaluate`, which
 * counts the work and measures the results. The operations whose result can be much larger than their input (`replace`,
 * `join`, `indent`, `split`, `tojson` with an indentation) are checked before they run.
 */
export class LimitedInterpreter extends Interpreter {
  readonly #limits: TemplateLimits;
  readonly #size: ReturnType<typeof measure>;
  #steps = 0;
  #depth = 0;

  constructor(environment: Scope, limits: TemplateLimits) {
    super(environment);
    this.#limits = limits;
    this.#size = measure(limits);
  }

  override evaluate(node: Node | undefined, environment: Scope): RuntimeValue {
    if (node?.type === "Settled") return (node as EvaluatedNode).value;
    this.#spend(1);
    // The engine reports a stack overflow as an unknown variable, so the depth is counted.
    if (++this.#depth > this.#limits.depth) throw new TemplateLimitError("calls or lists nested too deeply");
    try {
      const value = node ? this.#evaluateLimited(node, environment) : super.evaluate(node, environment);
      this.#size(value);
      return value;
    } finally {
      this.#depth--;
    }
  }

  #evaluateLimited(node: Node, environment: Scope): RuntimeValue {
    switch (node.type) {
      case "For":
        return super.evaluate(this.#loop(node, environment), environment);
      case "FilterStatement": {
        const body: Node = { type: "Program", body: node.body };
        return this.evaluate({ type: "FilterExpression", operand: body, filter: node.filter }, environment);
      }
      case "FilterExpression":
        return super.evaluate(this.#filter(node, environment), environment);
      case "CallExpression":
        return this.#call(node, environment);
      case "MemberExpression": {
        const member = super.evaluate(node, environment);
        // A method that is stored in a variable could not be checked when it is called.
        if (member.type === "FunctionValue" && this.#isText(node.object, environment)) {
          throw new Error("methods of text must be called directly");
        }
        return member;
      }
      default:
        return super.evaluate(node, environment);
    }
  }

  #loop(node: Node, environment: Scope): Node {
    const select = node.iterable?.type === "SelectExpression" ? node.iterable : undefined;
    const list = this.#evaluateNode(select ? select.lhs : node.iterable, environment);
    // An iteration creates scopes and a `loop` object, about as much work as ten expressions.
    this.#spend(10 * (childrenOf(list.value)?.length ?? 0));
    return { ...node, iterable: select ? { ...select, lhs: list } : list };
  }

  #filter(node: Node, environment: Scope): Node {
    const operand = this.#evaluateNode(node.operand, environment);
    const filter = node.filter;
    const name = filter?.type === "CallExpression" ? filter.callee?.value : undefined;
    if (!filter || !(name === "replace" || name === "join" || name === "indent" || name === "tojson")) {
      return { ...node, operand };
    }
    const args = this.#evaluateArguments(filter.args ?? [], environment);
    this.#refuseLarge(name, operand.value, args);
    return { ...node, operand, filter: { ...filter, args } };
  }

  #call(node: Node, environment: Scope): RuntimeValue {
    const callee = node.callee;
    if (callee?.type !== "MemberExpression") return super.evaluate(node, environment);
    const args = this.#evaluateArguments(node.args ?? [], environment);
    const object = this.#evaluateNode(callee.object, environment);
    const text = textIn(object.value);
    const member = callee.computed ? this.#evaluateNode(callee.property, environment) : callee.property;
    const name = callee.computed ? textIn((member as EvaluatedNode).value) : member?.value;
    if (text !== undefined && typeof name === "string") {
      const stripped = strip(name, text, argumentsOf(args).positional[0]);
      if (stripped !== undefined) return runtimeValue(stripped);
      this.#refuseLarge(name, object.value, args);
    }
    const found = super.evaluate({ ...callee, object, property: member }, environment);
    return super.evaluate({ ...node, callee: evaluatedNode(found), args }, environment);
  }

  #refuseLarge(name: string, operand: RuntimeValue, args: Node[]): void {
    const { positional, named } = argumentsOf(args);
    const text = textIn(operand) ?? "";
    const { characters, items, depth } = this.#size(operand);
    const number = (at: number, key: string): number => Number((positional[at] ?? named.get(key))?.value ?? 0) || 0;
    const length = (at: number, key: string): number => textIn(positional[at] ?? named.get(key))?.length ?? 0;
    let produced = 0;
    if (name === "replace") produced = occurrences(text, textIn(positional[0])) * length(1, "new");
    if (name === "split" && occurrences(text, textIn(positional[0]) ?? " ") > this.#limits.items) {
      throw new TemplateLimitError(`lists of more than ${this.#limits.items} elements`);
    }
    if (name === "join") produced = Math.max(text.length, items) * length(0, "separator");
    if (name === "indent") produced = occurrences(text, "\n") * Math.max(0, number(0, "width")) + number(0, "width");
    if (name === "tojson") {
      const separators = childrenOf(named.get("separators") ?? runtimeValue(null)) ?? [];
      const longest = Math.max(2, ...separators.map((each) => textIn(each)?.length ?? 0));
      produced = items * (longest * 2 + Math.max(0, number(-1, "indent")) * (depth + 1));
    }
    // An upper bound; the exact size is measured afterwards.
    if (produced + characters > 4 * this.#limits.characters) {
      throw new TemplateLimitError(`text of more than ${this.#limits.characters} characters`);
    }
  }

  #isText(node: Node | undefined, environment: Scope): boolean {
    return textIn(this.#evaluateNode(node, environment).value) !== undefined;
  }

  #evaluateNode(node: Node | undefined, environment: Scope): EvaluatedNode {
    return evaluatedNode(this.evaluate(node, environment));
  }

  #evaluateArguments(args: Node[], environment: Scope): Node[] {
    return args.map((each) => {
      if (each.type === "KeywordArgumentExpression") {
        return { ...each, value: this.#evaluateNode(each.value as Node, environment) };
      }
      const spread = each.type === "SpreadExpression" || each.type === "KeywordSpreadExpression";
      return spread
        ? { ...each, argument: this.#evaluateNode(each.argument, environment) }
        : this.#evaluateNode(each, environment);
    });
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#limits.steps) throw new TemplateLimitError(`more than ${this.#limits.steps} steps of work`);
  }
}

function evaluatedNode(value: RuntimeValue): EvaluatedNode {
  return { type: "Settled", value };
}

/** Returns the values of evaluated arguments, with spread arguments expanded. */
function argumentsOf(args: Node[]): { positional: RuntimeValue[]; named: Map<string, RuntimeValue> } {
  const positional: RuntimeValue[] = [];
  const named = new Map<string, RuntimeValue>();
  for (const each of args) {
    if (each.type === "Settled") positional.push((each as EvaluatedNode).value);
    if (each.type === "KeywordArgumentExpression")
      named.set(String(each.key?.value), (each.value as EvaluatedNode).value);
    const inside = each.argument && (each.argument as EvaluatedNode).value;
    if (inside && each.type === "SpreadExpression") positional.push(...(childrenOf(inside) ?? []));
    if (inside?.value instanceof Map && each.type === "KeywordSpreadExpression") {
      for (const [key, value] of inside.value) named.set(key, value);
    }
  }
  return { positional, named };
}

function occurrences(text: string, part: string | undefined): number {
  if (!part) return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/**
 * Evaluates `strip("\n")` as Python does; the template engine ignores the argument. Returns undefined for other calls.
 */
function strip(method: string, text: string, characters: RuntimeValue | undefined): string | undefined {
  const set = textIn(characters);
  if (set === undefined || !["strip", "lstrip", "rstrip"].includes(method)) return undefined;
  let start = 0;
  let end = text.length;
  if (method !== "rstrip") while (start < end && set.includes(text.charAt(start))) start++;
  if (method !== "lstrip") while (end > start && set.includes(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}
