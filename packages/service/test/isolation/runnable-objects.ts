import { operations } from "../spec-requests.js";
import type { RequestParts, SpecOperation } from "../spec-requests.js";
import type { TestService } from "../test-service.js";

/**
 * Stores what the samples of the evaluation service name and no sample makes: objects that the service can run. Their
 * digests are entered by those in the samples.
 */
export async function storeRunnable(
  service: TestService,
  tenant: { project_id: string; request(operation: SpecOperation): RequestParts },
  digests: Map<string, string>,
): Promise<void> {
  const tracing = service.tracing();
  const projectId = tenant.project_id;
  const named = (operationId: string, member: string) => {
    const operation = operations.find(({ id }) => id === operationId);
    if (operation === undefined) throw new Error(`no operation ${operationId}`);
    const text = JSON.stringify(tenant.request(operation));
    const [, objectId = "", digest = ""] =
      new RegExp(`"${member}":\\[?"weave:///[^/]+/[^/]+/object/([^:"]+):(\\w+)"`).exec(text) ?? [];
    return { objectId, digest };
  };
  const store = async (operationId: string, member: string, val: Record<string, unknown>, builtin?: string) => {
    const { objectId, digest } = named(operationId, member);
    const obj = { project_id: projectId, object_id: objectId, val, builtin_object_class: builtin };
    const made = await tracing.objCreate({ obj });
    digests.set(digest, made.digest);
    return `weave:///${projectId}/object/${objectId}:${made.digest}`;
  };
  const classOf = (name: string) => ({ _type: name, _class_name: name, _bases: ["Object", "BaseModel"] });

  const { digest: table } = await tracing.tableCreate({ table: { project_id: projectId, rows: [] } });
  const rows = { ...classOf("Dataset"), rows: `weave:///${projectId}/table/${table}` };
  const dataset = await tracing.objCreate({ obj: { project_id: projectId, object_id: "no-rows", val: rows } });
  const scorer = await store("callsScore", "scorer_refs", { values: ["warp"] }, "ContainsScorer");
  const datasetRef = `weave:///${projectId}/object/no-rows:${dataset.digest}`;
  await store("evaluateModel", "evaluation_ref", {
    ...classOf("Evaluation"),
    dataset: datasetRef,
    scorers: [scorer],
    trials: 1,
  });
  const params = { messages_template: [{ role: "user", content: "{question}" }] };
  const model = { llm_model_id: "upstream/loom-8b", default_params: params };
  await store("evaluateModel", "model_ref", model, "LLMStructuredCompletionModel");
}
