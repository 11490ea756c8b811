import { parse } from "yaml";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";

interface Arazzo {
  workflows: Workflow[];
}

interface Workflow {
  workflowId: string;
  parameters?: { name: string; value: unknown }[];
  steps: Step[];
}

interface Step {
  stepId: string;
  operationId?: string;
  parameters?: { name: string; value: unknown }[];
  requestBody?: { payload?: unknown; replacements?: unknown };
  successCriteria?: { condition: string; type?: unknown; context?: unknown }[];
  outputs?: Record<string, string>;
  [key: string]: unknown;
}

const stepKeys = new Set([
  "stepId",
  "description",
  "operationId",
  "parameters",
  "requestBody",
  "successCriteria",
  "outputs",
]);

/**
 * The workflows of an Arazzo document. `readText` returns the content of a file that a payload names. Throws
 * `UnsupportedSpecError` for parts of Arazzo that no story uses so far.
 */
export function storiesOf(source: string, name: string, readText: (path: string) => string): unknown[] {
  const { workflows } = parse(source, { merge: true }) as Arazzo;
  return workflows.map(({ workflowId, parameters = [], steps }) => ({
    id: workflowId,
    steps: steps.map((step) => {
      const where = `${name} ${workflowId}/${step.stepId}`;
      const unknown = Object.keys(step).find((key) => !stepKeys.has(key));
      if (unknown !== undefined) throw new UnsupportedSpecError(where, `"${unknown}" of a step is not supported`);
      if (step.operationId === undefined) throw new UnsupportedSpecError(where, "a step names an operationId");
      if (step.requestBody?.replacements !== undefined)
        throw new UnsupportedSpecError(where, "replacements are not supported");
      const params = [...parameters, ...(step.parameters ?? [])].map((parameter) => [parameter.name, parameter.value]);
      return {
        id: step.stepId,
        operationId: step.operationId,
        params: Object.fromEntries(params) as Record<string, unknown>,
        ...(step.requestBody && { payload: withFiles(step.requestBody.payload, readText) }),
        conditions: (step.successCriteria ?? []).map((criterion) => conditionOf(criterion, where)),
        outputs: step.outputs ?? {},
      };
    }),
  }));
}

function conditionOf({ condition, type }: { condition: string; type?: unknown }, where: string) {
  const [left, right, ...more] = condition.split(" == ");
  if (type !== undefined || left === undefined || right === undefined || more.length > 0) {
    throw new UnsupportedSpecError(where, `only conditions of the form "a == b" are supported, not "${condition}"`);
  }
  return { left: left.trim(), right: right.trim() };
}

/** `$file('./hello.txt')` → the text of the file. */
function withFiles(payload: unknown, readText: (path: string) => string): unknown {
  return JSON.parse(JSON.stringify(payload), (_, value: unknown) => {
    const path = typeof value === "string" ? /^\$file\('([^']+)'\)$/.exec(value)?.[1] : undefined;
    return path === undefined ? value : readText(path);
  }) as unknown;
}
