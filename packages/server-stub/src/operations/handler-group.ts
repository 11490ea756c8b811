import type { GroupDefinition } from "./definition.js";

/** The handlers of one group with its definition, made by the function that the module of the group exports. */
export interface HandlerGroup<Caller> {
  readonly definition: GroupDefinition;
  readonly handlers: Readonly<Record<string, GroupHandler<Caller> | undefined>>;
}

/** A handler without the types of its operation. */
export type GroupHandler<Caller> = (request: never, caller: Caller) => unknown;

export function handlerGroup<Caller>(definition: GroupDefinition, handlers: object): HandlerGroup<Caller> {
  return { definition, handlers: handlers as HandlerGroup<Caller>["handlers"] };
}

/** Every group, with the handlers that `handlers` has for it. */
export function handlerGroups<Caller>(
  definitions: readonly GroupDefinition[],
  handlers: Readonly<Record<string, object | undefined>>,
): HandlerGroup<Caller>[] {
  return definitions.map((definition) => handlerGroup(definition, handlers[definition.group] ?? {}));
}
