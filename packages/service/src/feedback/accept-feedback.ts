import { HeddleError, withLoc } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/tracing";
import { memberOf } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { checkFeedback, derivedId, externalRef, externalRefs } from "@heddle/trace-model";
import type { CheckedFeedback, ProjectOf } from "@heddle/trace-model";
import type { NewFeedback, TraceStore } from "@heddle/trace-store";
import type { ControlPlane } from "@heddle/control-plane";
import { checkQueue } from "./check-queue.js";
import { FieldSchemas } from "./field-schema.js";

/** Whose feedback it is, and what the request says beside it. */
export interface FeedbackContext {
  userId: string;
  /** The X-Weave-Retry-Id header: ids made for feedback without one are then the same on every attempt. */
  retryId: string | undefined;
  projectOf: ProjectOf;
}

type WireFeedback = Schemas["FeedbackCreateReq"];
type Annotation = NonNullable<CheckedFeedback["annotation"]>;

/** Turns the feedback of one request into what is stored, when it keeps the rules of its type. */
export class FeedbackAcceptance {
  readonly #services: { control: ControlPlane; store: TraceStore };
  readonly #context: FeedbackContext;
  readonly #schemas = new FieldSchemas();
  /** The `field_schema` of each specification that was read. */
  readonly #specifications = new Map<string, JsonText>();
  /** Queues that are known to exist. */
  readonly #queues = new Set<string>();

  constructor(services: { control: ControlPlane; store: TraceStore }, context: FeedbackContext) {
    this.#services = services;
    this.#context = context;
  }

  /** Throws `invalid`, `too_large` or `not_found`, with a loc inside the feedback. */
  async accept(wire: WireFeedback, index: number): Promise<NewFeedback> {
    const { projectOf, retryId, userId } = this.#context;
    const refs = {
      weave_ref: externalRef(wire.weave_ref, projectOf),
      annotation_ref: refOf(wire.annotation_ref, projectOf),
      runnable_ref: refOf(wire.runnable_ref, projectOf),
      call_ref: refOf(wire.call_ref, projectOf),
      trigger_ref: refOf(wire.trigger_ref, projectOf),
    };
    const sent = externalRefs(wire.payload.text, projectOf);
    const { payload, annotation } = checkFeedback({ ...wire, ...refs, payload: sent });
    const queueId = wire.queue_id || undefined;
    if (queueId !== undefined) await this.#checkQueue(wire.project_id, queueId);
    if (annotation !== undefined) await this.#checkValue(wire.project_id, annotation);
    const derived = retryId === undefined ? undefined : derivedId(wire.project_id, retryId, index, "feedback");
    return { ...wire, ...refs, queue_id: queueId, payload, id: wire.id ?? derived, wb_user_id: userId };
  }

  async #checkQueue(projectId: string, queueId: string): Promise<void> {
    const key = JSON.stringify([projectId, queueId]);
    if (this.#queues.has(key)) return;
    await checkQueue(this.#services.control, projectId, queueId);
    this.#queues.add(key);
  }

  async #checkValue(projectId: string, { value, ...version }: Annotation): Promise<void> {
    const key = JSON.stringify([projectId, version]);
    const schema = this.#specifications.get(key) ?? (await this.#readSchema(projectId, version));
    this.#specifications.set(key, schema);
    await withLoc(["payload", "value"], async () => this.#schemas.check(schema, value));
  }

  async #readSchema(projectId: string, version: Omit<Annotation, "value">): Promise<JsonText> {
    const loc = ["annotation_ref"];
    const object = await this.#services.store.objects
      .read({ ...version, project_id: projectId })
      .catch((error: unknown) => {
        throw error instanceof HeddleError && error.code === "not_found" ? error.with({ loc }) : error;
      });
    const schema = memberOf(object.val, "field_schema");
    if (object.base_object_class !== "AnnotationSpec" || schema === undefined) {
      throw new HeddleError("invalid", "must name an AnnotationSpec object with a field_schema", { loc });
    }
    return schema;
  }
}

/** An empty text is not a ref. */
function refOf(text: string | undefined, projectOf: ProjectOf): string | undefined {
  return text === undefined || text === "" ? undefined : externalRef(text, projectOf);
}
