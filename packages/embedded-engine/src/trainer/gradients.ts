import type { ModelParameter } from "../model/parameters.js";
import { parameterSet } from "../model/parameters.js";
import { addInto } from "./arithmetic.js";

/** Sums of gradients by parameter. The first addend is copied, so that no array is zeroed before an addition. */
export interface Gradients {
  add(name: string, values: Float32Array): void;
  /** Adds row i of `values` [rows, width] to row `rows[i]` of a table, in order. */
  addRows(name: string, values: Float32Array, rows: Int32Array): void;
  /** Adds another sum with the same layout. */
  addFlat(flat: Float32Array): void;
  /** Returns the sums of all parameters; zero where nothing was added. Valid until the next change. */
  sums(): Float32Array;
  /** Resets all sums to zero. */
  clear(): void;
}

export function emptyGradients(parameters: ModelParameter[]): Gradients {
  const { flat, views } = parameterSet(parameters);
  const filled = new Set<string>();
  const widths = new Map(parameters.map(({ name, shape }) => [name, shape.at(-1) ?? 1]));
  const view = (name: string): Float32Array => {
    const found = views.get(name);
    if (!found) throw new TypeError(`${name} is not a trained parameter`);
    return found;
  };
  const complete = () => {
    for (const [name, sums] of views) if (!filled.has(name)) sums.fill(0);
    for (const name of views.keys()) filled.add(name);
  };
  return {
    add(name, values) {
      if (filled.has(name)) addInto(view(name), values);
      else view(name).set(values);
      filled.add(name);
    },
    addRows(name, values, rows) {
      if (!filled.has(name)) view(name).fill(0);
      filled.add(name);
      addRows(view(name), values, rows, widths.get(name) ?? 1);
    },
    addFlat(values) {
      complete();
      addInto(flat, values);
    },
    sums() {
      complete();
      return flat;
    },
    clear: () => filled.clear(),
  };
}

function addRows(into: Float32Array, values: Float32Array, rows: Int32Array, width: number): void {
  for (let i = 0; i < rows.length; i++) {
    const start = rows[i]! * width;
    for (let j = 0; j < width; j++) into[start + j]! += values[i * width + j]!;
  }
}
