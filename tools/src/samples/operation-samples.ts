import { curlSample } from "./curl.js";
import type { ExactExamples } from "./exact-examples.js";
import { pythonSample } from "./python.js";
import { sampleRequest } from "./sample-request.js";
import { typescriptSample } from "./typescript.js";
import type { Model, Operation } from "../model/model.js";

export interface Sample {
  /** Name of the language as a fence of Markdown has it. */
  language: "sh" | "ts" | "python";
  title: string;
  code: string;
}

/**
 * Complete programs that send the first example of an operation to a service on this machine, with the key in the
 * environment variable `HEDDLE_API_KEY`. An operation that responds with one document or a stream has samples of both.
 * `examples` gives numbers their spelling. Throws `UnsupportedSpecError` where a required value has no example.
 */
export function operationSamples(model: Model, operation: Operation, examples: ExactExamples = new Map()): Sample[] {
  const variants = operation.streamOptional ? [false, true] : [false];
  return variants.flatMap((streamed) => {
    const request = sampleRequest(model, operation, { examples, streamed });
    const suffix = streamed ? ", streamed" : "";
    return [
      { language: "sh", title: `curl${suffix}`, code: curlSample(request) },
      { language: "ts", title: `TypeScript${suffix}`, code: typescriptSample(model, request) },
      { language: "python", title: `Python${suffix}`, code: pythonSample(request) },
    ] satisfies Sample[];
  });
}
