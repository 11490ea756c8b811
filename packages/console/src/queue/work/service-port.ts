import {
  annotationQueueClaimNext,
  annotationQueueItemProgressUpdate,
  annotationQueueItemReopen,
  annotationQueueItemsQuery,
  annotationQueueItemsRelease,
  annotationQueueRead,
  callRead,
  feedbackCreate,
  feedbackPurge,
  feedbackQuery,
} from "@heddle/client/tracing";
import type { AnnotationQueueClaimNextRawResult } from "@heddle/client/tracing";
import { callRef } from "../../call/feedback/call-ref.js";
import { isNotFound } from "../../data/is-not-found.js";
import { asText, membersOf } from "../../json/members.js";
import type { BrowserSession } from "../../session/session.js";
import { nameOf } from "../fields/field.js";
import type { GivenAnswer, Item, Outcome } from "./entry.js";
import type { QueuePort } from "./queue-port.js";

/** Long enough to think, short enough that what somebody left is given to others; it is renewed while the page is open. */
export const leaseSeconds = 600;

type RawItem = NonNullable<AnnotationQueueClaimNextRawResult["item"]>;

interface Of {
  projectId: string;
  queueId: string;
  /** Id of the annotator. */
  userId: string;
}

/** A queue by the operations of the service. */
export function servicePort(session: BrowserSession, { projectId, queueId, userId }: Of): QueuePort {
  const queue = { project_id: projectId, queue_id: queueId };

  /** What annotators are to see: the fields of the item, or of an item without fields what went in and came out. */
  async function valuesOf(item: RawItem): Promise<Item["values"]> {
    if (item.display_fields.length > 0) {
      const text = item.display_values?.text ?? "null";
      return text === "null" ? undefined : [...membersOf(text)];
    }
    const { call } = await callRead(session.connection, { project_id: projectId, id: item.call_id }, { raw: true });
    if (call === undefined || call === null) return undefined;
    const { inputs, output, exception } = call;
    return [
      ["inputs", inputs.text],
      ["output", output?.text ?? "null"],
      ...(typeof exception === "string" ? [["exception", JSON.stringify(exception)] as const] : []),
    ];
  }

  const itemOf = async (item: RawItem): Promise<Item> => ({
    id: item.id,
    callId: item.call_id,
    values: await valuesOf(item),
  });

  /** What the annotator has answered for a call in the queue, the newest of each field. */
  async function givenOf(callId: string): Promise<Map<string, GivenAnswer>> {
    const is = (field: string, value: string) => ({ $eq: [{ $getField: field }, { $literal: value }] });
    const { result } = await feedbackQuery(
      session.connection,
      {
        project_id: projectId,
        query: {
          $expr: {
            $and: [is("weave_ref", callRef(projectId, callId)), is("queue_id", queueId), is("wb_user_id", userId)],
          },
        },
        fields: ["id", "annotation_ref", "payload"],
        limit: 1000,
      },
      { raw: true },
    );
    const given = new Map<string, GivenAnswer>();
    for (const { text } of result) {
      const members = membersOf(text);
      const value = membersOf(members.get("payload") ?? "{}").get("value");
      const ref = asText(members.get("annotation_ref") ?? "null");
      if (value !== undefined) given.set(ref, { id: asText(members.get("id") ?? "null"), value: JSON.parse(value) });
    }
    return given;
  }

  return {
    async claim({ except, id }) {
      const request = {
        ...queue,
        except: [...except],
        ...(id !== undefined && { filter: { id } }),
        lease_seconds: leaseSeconds,
        include_display_values: true,
      };
      const { item } = await annotationQueueClaimNext(session.connection, request, { raw: true });
      return item === null ? undefined : await itemOf(item);
    },
    async look(id) {
      const request = { ...queue, filter: { id }, include_display_values: true };
      const { items } = await annotationQueueItemsQuery(session.connection, request, { raw: true });
      const [item] = items;
      if (item === undefined) return undefined;
      const state = item.annotation_state;
      const outcome: Outcome | undefined = state === "completed" || state === "skipped" ? state : undefined;
      return {
        item: await itemOf(item),
        isMine: item.annotator_user_id === userId,
        stored: { outcome, given: await givenOf(item.call_id) },
      };
    },
    async reopen(itemId) {
      await annotationQueueItemReopen(session.connection, {
        ...queue,
        item_id: itemId,
        lease_seconds: leaseSeconds,
      });
    },
    async finish(itemId, outcome) {
      await annotationQueueItemProgressUpdate(session.connection, {
        ...queue,
        item_id: itemId,
        annotation_state: outcome,
      });
    },
    async give({ id, callId, ref, value }, inQueue) {
      await feedbackCreate(session.connection, {
        project_id: projectId,
        id,
        weave_ref: callRef(projectId, callId),
        feedback_type: `wandb.annotation.${nameOf(ref)}`,
        annotation_ref: ref,
        ...(inQueue && { queue_id: queueId }),
        payload: { value },
      });
    },
    async takeBack(feedbackId) {
      await feedbackPurge(session.connection, {
        project_id: projectId,
        query: { $expr: { $eq: [{ $getField: "id" }, { $literal: feedbackId }] } },
      });
    },
    async release(ids) {
      await annotationQueueItemsRelease(session.parting, { ...queue, item_ids: ids.slice(0, 100) }, { retries: 0 });
    },
    async exists() {
      try {
        await annotationQueueRead(session.connection, queue);
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
  };
}
