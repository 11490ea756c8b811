export { selectPath } from "./refs/select.js";
export { fileDigest, isContentDigest, pathSafe, tableDigest, valueDigest } from "./digest.js";
export { formatTime, fromNanoseconds, isStorableTime, parseTime } from "./time.js";
export { derivedId, idTime, isCallId, newId } from "./ids.js";
export { formatRef, objectIdInRef, parseRef, projectIdOf, type Ref, type RefEdge } from "./refs/ref.js";
export { refSpellings } from "./refs/spellings.js";
export { isOpName, opKey, opNamePart } from "./refs/op-name.js";
export { findRefs } from "./refs/find.js";
export { externalRef, externalRefs, externalRefsInSteps, type ProjectOf } from "./refs/internal.js";
export type { CallEnd, CallPart, CallStart } from "./calls/part.js";
export { type StatedField, statedFields, statedOf, type StatedValues } from "./stated-fields.js";
export { type CallKind, statedKind } from "./calls/kind.js";
export {
  type CallStatus,
  latencyOf,
  statusOf,
  summaryWithWeave,
  traceNameOf,
  weaveBlock,
  wholeMilliseconds,
} from "./calls/summary.js";
export { exampleDigest } from "./evaluations/example-digest.js";
export { withOtelSpan } from "./calls/otel-span.js";
export { asBuiltinClass, type ObjectClasses, objectClasses } from "./objects/classes.js";
export { isAlias, isObjectId, isTag, parseVersionLabel, type VersionLabel } from "./objects/names.js";
export {
  checkFeedback,
  type CheckedFeedback,
  type FeedbackClaim,
  isManyPerCall,
  trainingJobType,
  rejectedCall,
} from "./feedback/check.js";
export { modelName, priceNames } from "./usage/model-names.js";
export { addUsage, reportedUsage, usageOf, type UsageRow } from "./usage/usage.js";
export { UsageTree, sameUsage, type UsageNode } from "./usage/usage-tree.js";
export { usageIncludes, type UsageIncludes } from "./usage/usage-includes.js";
export { rollUpUsage } from "./usage/roll-up.js";
export type { CastTarget, Comparison, Expression, TypedField, ValueType } from "./query/expression.js";
export { typeOf } from "./query/expression.js";
export {
  type CallColumn,
  type CallField,
  type ComputedField,
  type JsonColumn,
  parseCallField,
  pathExcess,
  joinPath,
  splitPath,
} from "./query/field.js";
export { namedOps, type NamedOps, type OpLabel } from "./query/named-ops.js";
export { opsByName } from "./query/ops-by-name.js";
export { type FieldParser, parseQuery } from "./query/parse.js";
export { maxSortKeys, parseSort, type SortKey } from "./query/sort.js";
export { leafAt, leavesAt } from "./query/leaf.js";
export { AttributeShapes } from "./otlp/attribute-shape.js";
export { decodeTraces, encodeTracesResponse, scanTraces } from "./otlp/export.js";
export { runSteps, runStepsWithPauses, type Steps } from "./steps.js";
export { projectOf, type SpanCall, spansToCalls } from "./otlp/to-calls.js";
export { opObjectId, spanOpName } from "./refs/op-object.js";
export { protobufField } from "./otlp/protobuf-writer.js";
export type { RejectedSpan, ResourceSpans, ScannedTraces, Span, Traces } from "./otlp/traces.js";
