import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { ParameterSet } from "../model/parameters.js";
import { copyTransposed } from "../weights/copy-transposed.js";

// The library packs the second operand of a product into another order at each run, which takes longer than the product with a few
// tokens. As the first operand a weight is read as it is: W^T x^T, with W^T [outputs, inputs] in memory.

/** Whether a weight is a projection that graphs may have as [outputs, inputs]. */
export function isProjection({ name, shape }: { name: string; shape: readonly number[] }): boolean {
  return shape.length === 2 && /\.(?:qkv|attention_output|gate_up|down)$/u.test(name);
}

/** Puts projections [inputs, outputs] into the other order, in place: `set` must not be used any more. */
export async function withOutputsFirst({ parameters, flat, views }: ParameterSet): Promise<ParameterSet> {
  for (const parameter of parameters) {
    if (!isProjection(parameter)) continue;
    const [inputs = 0, outputs = 0] = parameter.shape;
    const view = views.get(parameter.name)!;
    const from = { rows: inputs, columns: outputs, stride: outputs, offset: 0 };
    copyTransposed(view.slice(), from, view, { stride: inputs, offset: 0 });
    await yieldToEventLoop();
  }
  const turned = parameters.map((parameter) =>
    isProjection(parameter) ? Object.assign({}, parameter, { shape: parameter.shape.toReversed() }) : parameter,
  );
  return { parameters: turned, flat, views };
}
