import { HeddleError } from "@heddle/errors";

/** Maximum size of a message between processes, in bytes: far above any batch, about five million trained tokens. */
const maxMessageBytes = 256 * 2 ** 20;
const maxDepth = 256;

/**
 * Checks that a value can be sent to another process, before it is copied. Throws `too_large` above `limit` bytes (an
 * estimate of the serialised size, exact for typed arrays) and `invalid` for nesting that would overflow the stack or
 * for values that are not plain data. Returns the estimate.
 */
export function requireSendable(value: unknown, limit = maxMessageBytes): number {
  let bytes = 0;
  const add = (more: number): void => {
    bytes += more;
    if (bytes > limit) {
      throw new HeddleError("too_large", `the parameters of a call exceed ${limit} bytes`);
    }
  };
  const visit = (part: unknown, depth: number): void => {
    if (depth > maxDepth) throw new HeddleError("invalid", `nested deeper than ${maxDepth} levels`);
    if (typeof part === "string") add(2 * part.length + 8);
    else if (typeof part === "function" || typeof part === "symbol") throw notCloneable();
    else if (typeof part !== "object" || part === null) add(9);
    else if (ArrayBuffer.isView(part)) add(part.byteLength + 16);
    else if (part instanceof Map || part instanceof Set || Array.isArray(part)) {
      add(8);
      for (const each of part) visit(each, depth + 1);
    } else {
      const prototype: unknown = Object.getPrototypeOf(part);
      // Instances of classes have a longer prototype chain.
      if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw notCloneable();
      add(8);
      for (const [key, each] of Object.entries(part)) {
        visit(key, depth + 1);
        visit(each, depth + 1);
      }
    }
  };
  visit(value, 0);
  return bytes;
}

function notCloneable(): HeddleError {
  return new HeddleError("invalid", "only plain data can be sent to another process");
}
