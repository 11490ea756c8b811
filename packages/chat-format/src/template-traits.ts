import { parseTemplate } from "./jinja/parse-template.js";
import type { Expression, Statement } from "./jinja/syntax.js";

/** Properties of a chat template that decide how messages are passed to it. */
export interface TemplateTraits {
  /** It supports the role `developer`. Otherwise such messages become system messages. */
  developerRole: boolean;
  /** It reads the parts of a content. Otherwise their texts are joined. */
  contentParts: boolean;
  /** It can write arguments of a tool call that are text, so that malformed ones can be passed on as they are. */
  argumentText: boolean;
  /** It can only write arguments that are text. */
  argumentTextOnly: boolean;
  /** It reads the tools as JSON text of the system message, and not those of the request (Phi-4-mini). */
  toolsInMessage: boolean;
}

const noTraits: TemplateTraits = {
  developerRole: false,
  contentParts: false,
  argumentText: false,
  argumentTextOnly: false,
  toolsInMessage: false,
};

const known = new Map<string, TemplateTraits>();

/** Reads the traits from the syntax of a template. One that cannot be parsed has none. */
export function templateTraits(source: string): TemplateTraits {
  const traits = known.get(source) ?? readTraits(source);
  if (known.size >= 16) known.clear();
  known.set(source, traits);
  return traits;
}

function readTraits(source: string): TemplateTraits {
  try {
    return traitsOf(nodesOf(parseTemplate(source)));
  } catch {
    // A template without mistakes can also nest too deeply.
    return noTraits;
  }
}

function traitsOf(nodes: readonly Node[]): TemplateTraits {
  const appended = nodes.some(
    (node) => node.type === "binary" && node.operator === "+" && [node.left, node.right].some(isArguments),
  );
  const tested = nodes.some((node) => node.type === "test" && node.name === "string" && isArguments(node.value));
  const read = nodes.some(
    (node) =>
      ((node.type === "filter" || node.type === "test") && node.value && isArguments(node.value)) ||
      (node.type === "for" && nodesOf(node.iterable).some((inner) => isArguments(inner as Expression))),
  );
  return {
    developerRole: nodes.some((node) => node.type === "constant" && node.value === "developer"),
    contentParts: iteratesContent(nodes),
    argumentText: tested || (appended && !read),
    argumentTextOnly: appended && !read,
    toolsInMessage: nodes.some(isTools) && !nodes.some((node) => node.type === "name" && node.name === "tools"),
  };
}

type Node = Statement | Expression;

/** Returns the nodes of a syntax tree, parents before their children and in the order of the template. */
function nodesOf(tree: unknown): Node[] {
  const nodes: Node[] = [];
  const pending: unknown[] = [tree];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    if ("type" in value) nodes.push(value as Node);
    for (const child of Object.values(value).toReversed()) pending.push(child);
  }
  return nodes;
}

function isArguments(expression: Expression): boolean {
  return isMember(expression, "arguments");
}

function isTools(node: Node): boolean {
  return isMember(node, "tools");
}

function isMember(node: Node, name: string): boolean {
  if (node.type === "attribute") return node.name === name;
  return node.type === "item" && node.key.type === "constant" && node.key.value === name;
}

/** Whether a loop over messages contains a loop over the content of a message, which is how vLLM decides it. */
function iteratesContent(nodes: readonly Node[]): boolean {
  const lists = new Set(["messages"]);
  for (const node of nodes) {
    if (node.type === "set" && node.target.type === "name" && lists.has(variableIn(node.value) ?? "")) {
      lists.add(node.target.name);
    }
  }
  const loops = nodes.filter((node) => node.type === "for");
  const messages = new Set<string>();
  for (const { target, iterable } of loops) {
    if (target.type === "name" && lists.has(variableIn(iterable) ?? "")) messages.add(target.name);
  }
  return loops.some(({ iterable }) => messages.has(contentOwner(iterable) ?? ""));
}

/** Removes filters, tests and slices around an expression. */
function bare(expression: Expression): Expression {
  if ((expression.type === "filter" || expression.type === "test") && expression.value) return bare(expression.value);
  return expression.type === "slice" ? bare(expression.object) : expression;
}

function variableIn(expression: Expression): string | undefined {
  const inner = bare(expression);
  return inner.type === "name" ? inner.name : undefined;
}

/** The variable `message` of `message.content` or `message["content"]`. */
function contentOwner(expression: Expression): string | undefined {
  const inner = bare(expression);
  const reads =
    (inner.type === "attribute" && inner.name === "content") ||
    (inner.type === "item" && inner.key.type === "constant" && inner.key.value === "content");
  return reads ? variableIn(inner.object) : undefined;
}
