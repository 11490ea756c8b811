/** What runtime expressions of OpenAPI links and Arazzo documents look into. */
export interface ExpressionScope {
  inputs?: Readonly<Record<string, unknown>>;
  /** Outputs of earlier steps. */
  steps?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  params?: Readonly<Record<string, unknown>>;
  body?: unknown;
  status?: number;
  response?: unknown;
}

/** The value of a runtime expression; undefined where it leads nowhere. */
export function evaluate(expression: string, scope: ExpressionScope): unknown {
  const [, source = "", pointer = ""] = /^\$([^#]+)(?:#(.*))?$/.exec(expression) ?? [];
  const [head = "", ...steps] = source.split(".");
  switch (head) {
    case "statusCode":
      return scope.status;
    case "inputs":
      return scope.inputs?.[steps.join(".")];
    case "steps": {
      const [step = "", , output = ""] = steps;
      return scope.steps?.[step]?.[output];
    }
    case "request":
      if (steps[0] === "path") return scope.params?.[steps.slice(1).join(".")];
      return valueAt(scope.body, pointer);
    case "response":
      return valueAt(scope.response, pointer);
    default:
      return undefined;
  }
}

/** A value with all runtime expressions in it replaced: whole strings that are one, and `{$…}` in others. */
export function substitute(value: unknown, scope: ExpressionScope): unknown {
  if (typeof value === "string") {
    if (/^\$(inputs|steps|statusCode|request|response)\b/.test(value)) return evaluate(value, scope);
    return value.replace(/\{(\$[^{}]+)\}/g, (_, inner: string) => String(evaluate(inner, scope)));
  }
  if (Array.isArray(value)) return value.map((item) => substitute(item, scope));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item, scope)]));
}

/** The value at a JSON pointer. */
export function valueAt(value: unknown, pointer: string): unknown {
  let current = value;
  for (const step of pointer.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    current = (current as Record<string, unknown> | null | undefined)?.[key];
  }
  return current;
}

/** A copy of `value` with another value at a JSON pointer. */
export function withValueAt(value: unknown, pointer: string, changed: unknown): unknown {
  return replaced(value, pointer.split("/").slice(1), changed);
}

function replaced(value: unknown, [step, ...rest]: string[], changed: unknown): unknown {
  if (step === undefined) return changed;
  if (Array.isArray(value)) return value.with(Number(step), replaced(value[Number(step)], rest, changed));
  const record = (value ?? {}) as Record<string, unknown>;
  const { [step]: inner, ...others } = record;
  if (rest.length === 0 && changed === undefined) return others;
  return { ...record, [step]: replaced(inner, rest, changed) };
}
