import type { RawJson } from "./raw-json.js";

/**
 * A response whose free JSON is text. The plan has the members that lead to it by name, all items of a list as `[]`, and
 * all members of a map as `*`.
 */
export type WithRaw<Result, Plan> = [Plan] extends [never]
  ? Result
  : Plan extends "raw"
    ? RawJson<Exclude<Result, undefined>> | Extract<Result, undefined>
    : Result extends readonly (infer Item)[]
      ? WithRaw<Item, At<Plan, "[]">>[]
      : Result extends object
        ? { [Key in keyof Result]: WithRaw<Result[Key], At<Plan, Key>> }
        : Result;

type At<Plan, Key> = Key extends keyof Plan ? Plan[Key] : "*" extends keyof Plan ? Plan["*"] : never;
