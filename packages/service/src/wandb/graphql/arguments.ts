import { GraphqlError } from "./error.js";
import type { Arguments } from "./document.js";

/** A text that is not empty; undefined for anything else. */
export function textIn(args: Arguments, name: string): string | undefined {
  const value = args[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Throws {@link GraphqlError} without the text. */
export function requiredText(args: Arguments, name: string): string {
  const value = textIn(args, name);
  if (value === undefined) throw new GraphqlError(`${name} is needed`);
  return value;
}

/** The members of an argument that is an object. */
export function objectIn(args: Arguments, name: string): Arguments {
  const value = args[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Arguments) : {};
}

/** The objects in an argument that is a list. */
export function objectsIn(args: Arguments, name: string): Arguments[] {
  const value = args[name];
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.filter((item): item is Arguments => typeof item === "object" && item !== null);
}

/** The texts in an argument that is a list; undefined where there is none. */
export function textsIn(args: Arguments, name: string): string[] | undefined {
  const value = args[name];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : undefined;
}

/** `entity/project` of an input, with the caller's entity where there is none. */
export function projectIn(args: Arguments, defaultEntity: string, projectArgument = "projectName"): string {
  return `${textIn(args, "entityName") ?? defaultEntity}/${requiredText(args, projectArgument)}`;
}
