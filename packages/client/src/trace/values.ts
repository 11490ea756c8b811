const maxDepth = 64;
const maxMembers = 200_000;

/** Bytes as the text that they are, or their number. */
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return `[${bytes.length} bytes]`;
  }
}

/** JSON of any value. What JSON has no form for becomes text that says what it was. Does not throw. */
export function toJson(value: unknown): string {
  let members = 0;

  function plain(value: unknown, path: object[]): unknown {
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (typeof value === "function") return `[function ${value.name}]`;
    if (typeof value === "bigint" || typeof value === "symbol") return String(value);
    if (typeof value !== "object" || value === null) return value;
    if (path.includes(value)) return "[cycle]";
    if (path.length > maxDepth || members > maxMembers) return "[…]";
    const inside = [...path, value];
    const list = (items: Iterable<unknown>) => Array.from(items, (item) => attempt(() => item, inside) ?? null);
    if (Array.isArray(value) || value instanceof Set) return list(value);
    if (value instanceof ArrayBuffer) return textOf(new Uint8Array(value));
    if (value instanceof Uint8Array) return textOf(value);
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return list(value as Float32Array);
    if (value instanceof Error) return String(value);
    if (value instanceof Map)
      return Object.fromEntries([...value].map(([k, v]) => [String(k), attempt(() => v, inside)]));
    if (value instanceof RegExp || value instanceof URL) return String(value);
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function") {
      const json: unknown = toJSON.call(value);
      return plain(json, inside);
    }
    const kind = Object.prototype.toString.call(value);
    if (kind !== "[object Object]") return kind;
    return Object.fromEntries(
      Object.keys(value).map((key) => [key, attempt(() => (value as Record<string, unknown>)[key], inside)]),
    );
  }

  function attempt(read: () => unknown, path: object[]): unknown {
    members += 1;
    try {
      return plain(read(), path);
    } catch (error) {
      return `[not readable: ${error instanceof Error ? error.message : typeof error}]`;
    }
  }

  return JSON.stringify(attempt(() => value, [])) ?? "null";
}
