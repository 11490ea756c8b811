import type { GroupDefinition, OperationEntry } from "./definition.js";
import type { HandlerGroup } from "./handler-group.js";
import { linkPlans } from "../json/plan.js";
import type { Plan } from "../json/plan.js";
import type { Validator } from "../validation/validation.js";

/** What reading the requests of a group takes. */
export interface LinkedGroup {
  readonly interface: GroupDefinition["interface"];
  readonly operations: readonly OperationEntry[];
  readonly validators: Readonly<Record<string, Validator>>;
  readonly plans: readonly Plan[];
}

/** A group that a server serves. */
export interface ServedGroup extends LinkedGroup {
  readonly handlers: Readonly<Record<string, unknown>>;
  /** Checks of its responses; absent where they are not checked. */
  readonly responseValidators: Promise<Readonly<Record<string, Validator>>> | undefined;
}

export function linkGroup({ interface: kind, operations, validators, plans }: GroupDefinition): LinkedGroup {
  return { interface: kind, operations, validators, plans: linkPlans(plans, validators) };
}

/** The interface of a server and its groups by name. Throws a TypeError for groups that cannot be in one server. */
export function serveGroups<Caller>(
  groups: readonly HandlerGroup<Caller>[],
  validateResponses: boolean,
): { interface: GroupDefinition["interface"]; served: ReadonlyMap<string, ServedGroup> } {
  const served = new Map<string, ServedGroup>();
  const [first] = groups;
  if (first === undefined) throw new TypeError("a server needs at least one group of handlers");
  for (const { definition, handlers } of groups) {
    if (definition.interface !== first.definition.interface)
      throw new TypeError("groups of two interfaces need a server each: chain them by the option fallback");
    if (served.has(definition.group)) throw new TypeError(`the group ${definition.group} is there twice`);
    const responseValidators = validateResponses ? loadResponseValidators(definition) : undefined;
    served.set(definition.group, { ...linkGroup(definition), handlers, responseValidators });
  }
  return { interface: first.definition.interface, served };
}

function loadResponseValidators({ responseValidators }: GroupDefinition): ServedGroup["responseValidators"] {
  if (responseValidators === undefined)
    throw new TypeError("validateResponses is an option of createTracingServer and createTrainingServer only");
  const loading = responseValidators();
  loading.catch(() => {}); // rethrown by the first request that awaits them
  return loading;
}
