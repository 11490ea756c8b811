import { setImmediate } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import { RawJson } from "@heddle/server-stub";
import { memberOf } from "@heddle/trace-model";
import type { JsonText } from "@heddle/trace-model";
import type { StoredObject } from "@heddle/trace-store";
import { withPrefix } from "../error-prefix.js";
import { columnsOf, Variables } from "../llm-models/variables.js";
import type { Services } from "../services.js";
import { withinTime } from "../time-limit.js";
import type { ScorerClass } from "./scorer-class.js";
import { scorerClasses, scorerClassOf } from "./scorer-classes.js";
import { scorerSettings } from "./scorer-value.js";
import type { Scored, Scorer } from "./scorer.js";

/** Many paths into large values take long. */
const readMs = 250;

/**
 * Makes a scorer of an object. Throws `invalid` for an object whose code only an SDK can run and for parameters that do
 * not fit its class; the message says what works.
 */
export async function loadScorer(
  services: Pick<Services, "store" | "providers" | "completions">,
  object: StoredObject,
): Promise<Scorer> {
  const { project_id: projectId, object_id, val } = object;
  const scorerClass = builtInClass(object);
  return withPrefix(object_id, async () => {
    const { name = object_id, columnMap, parameters } = scorerSettings(scorerClass, val);
    const score = await scorerClass.open(parameters, { services, projectId });
    return {
      name,
      async score(scored, signal) {
        const result = await withPrefix(name, async () => {
          const variables = withinTime(readMs, () => variablesOf(scored, columnMap));
          return score(variables, signal);
        });
        // Scorers compute at once; many of them must not hold up requests.
        await setImmediate();
        return result instanceof RawJson ? result.text : JSON.stringify(result);
      },
    };
  });
}

function builtInClass({ object_id, kind, leaf_object_class, val }: StoredObject): ScorerClass {
  const scorerClass = kind === "op" ? undefined : scorerClassOf(leaf_object_class);
  const hasCode = (memberOf(val, "score") ?? "null") !== "null";
  if (scorerClass !== undefined && (scorerClass.isSdkClass === true || !hasCode)) return scorerClass;
  const what = kind === "op" ? "an op" : hasCode ? "a scorer with code of its own" : describe(leaf_object_class);
  const names = scorerClasses.map(({ name }) => name).join(", ");
  throw new HeddleError(
    "invalid",
    `${object_id} is ${what}, which only an SDK can run. The service runs scorers of these classes: ${names}`,
  );
}

function describe(className: string | null): string {
  return className === null ? "an object without a class" : `an object of class ${className}`;
}

/** What templates and scorers read by name; of equal names, `output`, columns of the row and inputs win in this order. */
function variablesOf({ row, inputs, output, call }: Scored, columnMap: ReadonlyMap<string, string>): Variables {
  const columns = columnsOf(row ?? inputs);
  const values = new Map<string, JsonText>([
    ["inputs", inputs],
    ["row", row ?? inputs],
    ...(call === undefined ? [] : [["call", call] as const]),
    ...columnsOf(inputs),
    ...columns,
    ["output", output],
  ]);
  const variables = new Variables(values);
  const mapped = [...columnMap].map(([name, source]): [string, JsonText] => [
    name,
    // A dataset may have a column that is called output, too.
    columns.get(source) ?? variables.need(source, `column_map of ${name}`),
  ]);
  return new Variables(new Map([...values, ...mapped]));
}
