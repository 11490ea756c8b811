import { Link } from "../../router/routing.js";
import { useMemo } from "react";
import { linkToProject } from "../../project/project-link.js";
import { useSession } from "../../session/session-context.js";
import { visibleLine } from "../../ui/visible-text.js";
import type { CallFacts } from "../call-facts.js";
import { useFeedback } from "../feedback/use-feedback.js";
import { answeredBy, jobFeedback, trainedBy } from "./lineage-of.js";

/** Which checkpoint answered a call, and which jobs were made of it. Nothing where neither is known. */
export function Lineage({ projectId, call }: { projectId: string; call: CallFacts }) {
  const isShared = useSession().share !== undefined;
  const { query } = useFeedback(projectId, call.id);
  const answered = useMemo(() => answeredBy(call.attributes.text), [call]);
  const jobs = useMemo(
    () => (query.data ?? []).flatMap(({ type, payload }) => (type === jobFeedback ? (trainedBy(payload) ?? []) : [])),
    [query.data],
  );
  if (answered === undefined && jobs.length === 0) return undefined;
  const model = (modelId: string) => ({
    to: "/$entity/$project/training/$modelId" as const,
    params: { ...linkToProject(projectId).params, modelId },
  });
  return (
    <section className="span-part" aria-label="Lineage">
      <div className="span-part-head">
        <h3>lineage</h3>
      </div>
      {answered !== undefined && (
        <p className="prose">
          Answered by{" "}
          {isShared ? (
            `step ${answered.step} of a model`
          ) : (
            <Link {...model(answered.modelId)} search={{}}>
              step {answered.step} of a model
            </Link>
          )}
          .
        </p>
      )}
      {jobs.map(({ jobId, modelId, model: name, kind, reward }) => (
        <p key={jobId} className="prose">
          Trained on by{" "}
          {isShared ? (
            `a job of ${visibleLine(name)}`
          ) : (
            <Link {...model(modelId)} search={{ job: jobId }} className="given">
              {{ rl: "an RL", sft: "an SFT" }[kind] ?? "a"} job of {visibleLine(name)}
            </Link>
          )}
          {reward !== undefined && `, with the reward ${visibleLine(reward)}`}.
        </p>
      ))}
    </section>
  );
}
