import type { RuntimeValue } from "./jinja.js";
import { Environment } from "./jinja.js";
import type { TemplateLimits } from "./template-limits.js";
import { TemplateLimitError } from "./template-limits.js";

/** The template engine does not export its value classes; an environment creates values from JavaScript values. */
export function runtimeValue(value: unknown): RuntimeValue {
  return new Environment().set("value", value);
}

export function textIn(value: RuntimeValue | undefined): string | undefined {
  return typeof value?.value === "string" ? value.value : undefined;
}

export function childrenOf(value: RuntimeValue): RuntimeValue[] | undefined {
  const inside: unknown = value.value;
  if (Array.isArray(inside)) return inside;
  return inside instanceof Map ? [...inside.values()] : undefined;
}

interface Size {
  characters: number;
  items: number;
  depth: number;
}

/**
 * Measures values as they would be written out. Lists can share elements, so a small value in memory can have a very
 * long text: the size of each list is cached, and a value over the limits ends the rendering.
 */
export function measure({
  characters,
  items,
}: Pick<TemplateLimits, "characters" | "items">): (value: RuntimeValue) => Size {
  const known = new WeakMap<RuntimeValue, Size>();
  const maxDepth = 1000;

  function sizeOf(value: RuntimeValue, depth: number): Size & { fixed: boolean } {
    const remembered = known.get(value);
    if (remembered) return { ...remembered, fixed: true };
    const text = textIn(value);
    const children = childrenOf(value);
    // The contents of a namespace may change after it was measured.
    const size = { characters: text?.length ?? 8, items: 1, depth: 1, fixed: value.type !== "NamespaceValue" };
    if (depth > maxDepth) throw new TemplateLimitError(`lists nested more than ${maxDepth} deep`);
    if (children && value.value instanceof Map) {
      for (const key of value.value.keys()) size.characters += String(key).length;
    }
    for (const child of children ?? []) {
      const inner = sizeOf(child, depth + 1);
      size.characters += inner.characters;
      size.items += inner.items;
      size.depth = Math.max(size.depth, inner.depth + 1);
      size.fixed &&= inner.fixed;
      check(size);
    }
    check(size);
    if (children && size.fixed) known.set(value, size);
    return size;
  }
  function check(size: Size): void {
    if (size.characters > characters) throw new TemplateLimitError(`text of more than ${characters} characters`);
    if (size.items > items) throw new TemplateLimitError(`lists of more than ${items} elements`);
  }
  return (value) => sizeOf(value, 0);
}
