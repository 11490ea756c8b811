import { CheckFailure } from "./exchange.js";
import type { Exchange } from "./exchange.js";
import { evaluate, substitute } from "./expressions.js";
import type { ExpressionScope } from "./expressions.js";
import type { Story, StoryStep } from "./plan.js";
import { checkResponse } from "./response-check.js";
import type { Fixture } from "./fixture.js";

export interface StoryResult {
  operationId: string;
  /** `story <workflow>/<step>` */
  name: string;
  failure?: unknown;
}

/**
 * Runs the steps of a story one after the other, each response checked against the spec as well. The first step that
 * fails ends it: the ones after build on it.
 */
export async function runStory(story: Story, fixture: Fixture): Promise<StoryResult[]> {
  const [entity = "", name = ""] = fixture.storyProject.split("/");
  const inputs = { project: fixture.storyProject, entity, name, api_key: fixture.apiKey };
  const steps: Record<string, Record<string, unknown>> = {};
  const results: StoryResult[] = [];
  for (const step of story.steps) {
    const result = { operationId: step.operationId, name: `story ${story.id}/${step.id}` };
    try {
      steps[step.id] = await runStep(step, { inputs, steps }, fixture);
      results.push(result);
    } catch (failure) {
      results.push({ ...result, failure });
      return results;
    }
  }
  return results;
}

async function runStep(step: StoryStep, given: ExpressionScope, fixture: Fixture): Promise<Record<string, unknown>> {
  const operation = fixture.operation(step.operationId);
  const params = substitute(step.params, given) as Record<string, unknown>;
  const body = substitute(step.payload, given);
  const exchange = await fixture.send(operation, { params, body });
  const response = checkResponse(operation, exchange, operation.schemas);
  const scope = { ...given, params, body, status: exchange.status, response };
  for (const condition of step.conditions) expectCondition(condition, scope, exchange);
  const outputs = Object.entries(step.outputs).map(([name, expression]) => [name, evaluate(expression, scope)]);
  return Object.fromEntries(outputs) as Record<string, unknown>;
}

function expectCondition(
  { left, right }: StoryStep["conditions"][number],
  scope: ExpressionScope,
  exchange: Exchange,
): void {
  const [found, wanted] = [sideOf(left, scope), sideOf(right, scope)];
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new CheckFailure(`${left} is ${JSON.stringify(found)}`, {
    expected: `${left} == ${JSON.stringify(wanted)}`,
    exchange,
  });
}

/** A runtime expression, or JSON. Null and a missing value are the same. */
function sideOf(side: string, scope: ExpressionScope): unknown {
  return (side.startsWith("$") ? evaluate(side, scope) : (JSON.parse(side) as unknown)) ?? null;
}
