import { HeddleError } from "@heddle/errors";
import { memberOf, stringValue, withMembers } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { isAgentRef, parseRef, projectIdOf } from "../refs/ref.js";
import type { Ref } from "../refs/ref.js";
import { emojiNames } from "./emoji.js";

/** What a client says of a call or an object. */
export interface FeedbackClaim {
  project_id: string;
  weave_ref: string;
  feedback_type: string;
  /** An object. */
  payload: JsonText;
  annotation_ref?: string;
  runnable_ref?: string;
  call_ref?: string;
  trigger_ref?: string;
}

/** A claim that its type allows. */
export interface CheckedFeedback {
  /** With what the service adds. */
  payload: JsonText;
  /** Of an annotation: the object that says which values it may have, and the value. */
  annotation?: { object_id: string; digest: string; value: JsonText };
}

type RefName = "annotation_ref" | "runnable_ref" | "call_ref" | "trigger_ref";

/** Bytes of JSON text. */
const maxPayload = 1024 * 1024;
const maxNote = 1024;

const annotationPrefix = "wandb.annotation.";
const runnablePrefix = "wandb.runnable.";

/** A call is preferred over another one, which the payload names. */
const preferenceType = "heddle.preference";

/** A training job was made of the call. */
export const trainingJobType = "heddle.training_job";

/** Types that a call usually has several of, so that any of them may match a condition. */
const manyPerCall = new Set([
  "wandb.reaction.1",
  "wandb.note.1",
  "wandb.agent_user_feedback",
  preferenceType,
  trainingJobType,
  "*",
]);

/** Whether a condition on feedback of a type is met by any of a call's, rather than by the first; `*` is any type. */
export function isManyPerCall(feedbackType: string): boolean {
  return manyPerCall.has(feedbackType);
}

/**
 * Checks a claim against the rules of its type. Throws `invalid` for what breaks them and `too_large` for a payload of
 * more than 1 MiB. Whether an annotation's value fits its specification is the caller's to check.
 */
export function checkFeedback(claim: FeedbackClaim): CheckedFeedback {
  const { feedback_type: type, payload } = claim;
  if (Buffer.byteLength(payload) > maxPayload) {
    throw new HeddleError("too_large", `the payload has more than ${maxPayload} bytes`, { loc: ["payload"] });
  }
  checkTarget(claim);
  if (type.startsWith(annotationPrefix)) return checkAnnotation(claim);
  if (type.startsWith(runnablePrefix)) return checkRunnable(claim);
  if (type === "wandb.agent_user_feedback" || type === "wandb.agent_monitor") {
    allowRefs(claim, ["runnable_ref", "call_ref", "trigger_ref"]);
    return { payload };
  }
  allowRefs(claim, []);
  if (type === "wandb.reaction.1") return { payload: reactionOf(payload) };
  if (type === "wandb.note.1") checkNote(payload);
  if (type === preferenceType) checkPreference(claim);
  return { payload };
}

function checkTarget({ project_id, weave_ref }: FeedbackClaim): void {
  const ref = parseRef(weave_ref);
  const own = ref === undefined ? isAgentRef(weave_ref, project_id) : projectIdOf(ref) === project_id;
  if (own) return;
  throw invalid(`must be a ref into the project ${project_id}`, "weave_ref");
}

function checkAnnotation(claim: FeedbackClaim): CheckedFeedback {
  const name = nameAfter(annotationPrefix, claim);
  allowRefs(claim, ["annotation_ref"]);
  const ref = requiredRef(claim, "annotation_ref");
  if (ref.kind !== "object" || ref.edges.length > 0 || ref.digest === "*") {
    throw invalid("must be the ref of a version of an AnnotationSpec object", "annotation_ref");
  }
  if (projectIdOf(ref) !== claim.project_id) {
    throw invalid(`must be a ref into the project ${claim.project_id}`, "annotation_ref");
  }
  if (ref.name !== name) {
    throw invalid(`names the object ${ref.name}, and feedback_type the annotation ${name}`, "annotation_ref");
  }
  const value = requiredMember(claim, "value");
  return { payload: claim.payload, annotation: { object_id: name, digest: ref.digest, value } };
}

function checkRunnable(claim: FeedbackClaim): CheckedFeedback {
  const name = nameAfter(runnablePrefix, claim);
  allowRefs(claim, ["runnable_ref", "call_ref", "trigger_ref"]);
  const ref = requiredRef(claim, "runnable_ref");
  if (ref.kind !== "object" && ref.kind !== "op")
    throw invalid("must be the ref of an op or an object", "runnable_ref");
  if (ref.name !== name) {
    throw invalid(`names ${ref.name}, and feedback_type the runnable ${name}`, "runnable_ref");
  }
  if (ref.kind === "op" && claim.call_ref === undefined) {
    throw invalid("is required where runnable_ref names an op: the ref of the call that it made", "call_ref");
  }
  requiredMember(claim, "output");
  return { payload: claim.payload };
}

function checkPreference(claim: FeedbackClaim): void {
  const better = wholeCall(claim.weave_ref, claim.project_id);
  if (better === undefined) throw invalid(`must be the ref of a call: the better one of two`, "weave_ref");
  const rejected = stringValue(requiredMember(claim, "rejected"));
  const worse = rejected === undefined ? undefined : wholeCall(rejected, claim.project_id);
  const what = `the ref of another call of the project ${claim.project_id}, the worse one of two`;
  if (worse === undefined || worse === better) throw invalid(`must be ${what}`, "payload", "rejected");
}

/** The id of the call of the project that a ref names; undefined for any other ref. */
function wholeCall(text: string, projectId: string): string | undefined {
  const ref = parseRef(text);
  const isWhole = ref?.kind === "call" && ref.edges.length === 0 && projectIdOf(ref) === projectId;
  return isWhole ? ref.id : undefined;
}

/** The id of the call that a piece of feedback says is worse; undefined for feedback of another type. */
export function rejectedCall(feedbackType: string, payload: JsonText): string | undefined {
  if (feedbackType !== preferenceType) return undefined;
  const ref = parseRef(stringValue(memberOf(payload, "rejected") ?? "null") ?? "");
  return ref?.kind === "call" ? ref.id : undefined;
}

function nameAfter(prefix: string, { feedback_type: type }: FeedbackClaim): string {
  const name = type.slice(prefix.length);
  if (name === "") throw invalid(`must have a name after ${prefix}`, "feedback_type");
  return name;
}

/** Refs that are allowed have to be refs; others have to be absent. */
function allowRefs(claim: FeedbackClaim, allowed: readonly RefName[]): void {
  for (const name of ["annotation_ref", "runnable_ref", "call_ref", "trigger_ref"] as const) {
    if (claim[name] === undefined) continue;
    if (!allowed.includes(name)) throw invalid(`feedback of the type ${claim.feedback_type} has none`, name);
    const ref = parseRef(claim[name]);
    if (ref === undefined) throw invalid("must be a ref: weave:///entity/project/…", name);
    if (name === "call_ref" && ref.kind !== "call") throw invalid("must be the ref of a call", name);
  }
}

function requiredRef(claim: FeedbackClaim, name: RefName): Ref {
  const ref = claim[name] === undefined ? undefined : parseRef(claim[name]);
  if (ref === undefined) throw invalid(`is required for feedback of the type ${claim.feedback_type}`, name);
  return ref;
}

function requiredMember({ payload, feedback_type: type }: FeedbackClaim, name: string): JsonText {
  const value = memberOf(payload, name);
  if (value === undefined) throw invalid(`is required for feedback of the type ${type}`, "payload", name);
  return value;
}

function reactionOf(payload: JsonText): JsonText {
  const emoji = stringValue(memberOf(payload, "emoji") ?? "null");
  const names = emoji === undefined ? undefined : emojiNames(emoji);
  if (names === undefined) throw invalid("must be exactly one emoji", "payload", "emoji");
  return withMembers(payload, {
    alias: JSON.stringify(names.alias),
    detoned: JSON.stringify(names.detoned),
    detoned_alias: JSON.stringify(names.detoned_alias),
  });
}

function checkNote(payload: JsonText): void {
  const note = stringValue(memberOf(payload, "note") ?? "null");
  const length = note === undefined ? 0 : Array.from(note).length;
  if (length < 1 || length > maxNote) {
    throw invalid(`must be a text of 1 to ${maxNote} characters`, "payload", "note");
  }
}

function invalid(message: string, ...loc: string[]): HeddleError {
  return new HeddleError("invalid", message, { loc });
}
