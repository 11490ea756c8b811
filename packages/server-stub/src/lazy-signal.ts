const makeSignal = Symbol("make the signal");

interface Lazy {
  [makeSignal]?: () => AbortSignal;
}

/** One getter for all objects. */
const signal = {
  enumerable: true,
  get(this: Lazy): AbortSignal | undefined {
    return this[makeSignal]?.();
  },
};

/**
 * Gives the object a property `signal` that is created at its first access: few handlers need it, and creating one
 * takes as long as reading the request. A getter inside an object literal would be a new function each time. V8 notes
 * each in a cell among the old objects, and that keeps what the function sees, a whole request, until the next full
 * garbage collection.
 */
export function withSignal<T extends object>(object: T & Lazy, make: () => AbortSignal) {
  object[makeSignal] = make;
  return Object.defineProperty(object, "signal", signal) as T & { readonly signal: AbortSignal };
}
