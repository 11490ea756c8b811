import type { Budget } from "./budget.js";
import { equal } from "./operators.js";
import { bind } from "./signature.js";
import { TemplateError } from "./template-error.js";
import type { Arguments, Value } from "./values.js";
import { Attributes, Callable, Tuple } from "./values.js";

interface LoopOptions {
  items: readonly Value[];
  depth0: number;
  budget: Budget;
  /** Runs a recursive loop over other items. */
  recurse?: (items: Value, depth0: number) => string;
}

/** The variable `loop` in the body of a loop. */
export class Loop extends Attributes {
  readonly typeName = "LoopContext";
  readonly #options: LoopOptions;
  #index0 = 0;
  #changed: Value;

  constructor(options: LoopOptions) {
    super();
    this.#options = options;
  }

  moveTo(index0: number): void {
    this.#index0 = index0;
  }

  override attribute(name: string): Value {
    const { items, depth0 } = this.#options;
    const at = this.#index0;
    switch (name) {
      case "index0":
        return at;
      case "index":
        return at + 1;
      case "revindex0":
        return items.length - at - 1;
      case "revindex":
        return items.length - at;
      case "first":
        return at === 0;
      case "last":
        return at === items.length - 1;
      case "length":
        return items.length;
      case "previtem":
        return items[at - 1];
      case "nextitem":
        return items[at + 1];
      case "depth":
        return depth0 + 1;
      case "depth0":
        return depth0;
      case "cycle":
        return new Callable(name, (args) => args.positional[at % Math.max(1, args.positional.length)]);
      case "changed":
        return new Callable(name, (args) => this.#hasChanged(args));
      default:
        return undefined;
    }
  }

  #hasChanged({ positional }: Arguments): boolean {
    const values = new Tuple(positional);
    const changed = this.#changed === undefined || !equal(this.#changed, values, this.#options.budget);
    this.#changed = values;
    return changed;
  }

  override call(args: Arguments): Value {
    const { recurse, depth0 } = this.#options;
    if (!recurse) throw new TemplateError("the loop must have the 'recursive' marker to be called recursively");
    return recurse(bind("loop", args, ["iterable"], 1)[0], depth0 + 1);
  }
}
