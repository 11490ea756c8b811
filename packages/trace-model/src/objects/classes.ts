import { HeddleError } from "@heddle/errors";
import { arrayItems, jsonType, memberOf, stringMember, stringValue, withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** What a stored value is: an op or another object, and of which classes (null for values without a class). */
export interface ObjectClasses {
  kind: "object" | "op";
  base_object_class: string | null;
  leaf_object_class: string | null;
}

/**
 * Reads kind and classes from the value. A class instance has `_bases` that end in `Object` (or `BaseObject`) and
 * `BaseModel`; its base class is the name before these, or its own when there is none.
 */
export function objectClasses(val: JsonText): ObjectClasses {
  const kind = isOp(val) ? "op" : "object";
  const leaf = stringMember(val, "_class_name");
  const bases = arrayItems(memberOf(val, "_bases") ?? "null").map(stringValue);
  const root = bases.at(-2);
  const isInstance = bases.at(-1) === "BaseModel" && (root === "Object" || root === "BaseObject");
  if (!isInstance || leaf === undefined) {
    return { kind, base_object_class: null, leaf_object_class: null };
  }
  const base = bases.length > 2 ? (bases.at(-3) ?? leaf) : leaf;
  return { kind, base_object_class: base, leaf_object_class: leaf };
}

const plainBases = ["BaseObject", "BaseModel"];
const scorerBases = ["Scorer", "Object", "BaseModel"];

/** `_bases` by class. */
const builtinClasses: ReadonlyMap<string, readonly string[]> = new Map([
  ["Leaderboard", plainBases],
  ["AlertSpec", plainBases],
  ["AnnotationSpec", plainBases],
  ["Provider", plainBases],
  ["ProviderModel", plainBases],
  ["SavedView", plainBases],
  ["ComparisonView", plainBases],
  ["LLMStructuredCompletionModel", ["Model", "Object", "BaseModel"]],
  ["ChartConfig", plainBases],
  ["ActionSpec", plainBases],
  ["LLMAsAJudgeScorer", scorerBases],
  ["GroupRankingScorer", scorerBases],
  ["ExactMatchScorer", scorerBases],
  ["ContainsScorer", scorerBases],
  ["RegexScorer", scorerBases],
  ["JsonValidityScorer", scorerBases],
  ["JsonSchemaScorer", scorerBases],
  ["NumericToleranceScorer", scorerBases],
  ["StringDistanceScorer", scorerBases],
  ["TokenSimilarityScorer", scorerBases],
  ["ToolCallScorer", scorerBases],
]);

/** The value as stored when the client named a built-in class for it. Throws `invalid` when it cannot be one. */
export function asBuiltinClass(val: JsonText, className: string): JsonText {
  const bases = builtinClasses.get(className);
  if (bases === undefined) {
    throw invalid(`there is no built-in object class ${className}`);
  }
  if (jsonType(val) !== "object") {
    throw invalid(`a value of class ${className} must be an object`);
  }
  const own = stringMember(val, "_class_name");
  if (own !== undefined && own !== className) {
    throw invalid(`the value is of class ${own}, not ${className}`);
  }
  const name = JSON.stringify(className);
  return withMembers(val, {
    _type: memberOf(val, "_type") ?? name,
    _class_name: name,
    _bases: memberOf(val, "_bases") ?? JSON.stringify(bases),
  });
}

function invalid(message: string): HeddleError {
  return new HeddleError("invalid", message, { loc: ["val"] });
}

function isOp(val: JsonText): boolean {
  if (stringMember(val, "_type") !== "CustomWeaveType") return false;
  return stringMember(memberOf(val, "weave_type") ?? "null", "type") === "Op";
}
