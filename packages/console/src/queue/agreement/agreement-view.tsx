import { Failure } from "../../ui/failure.js";
import { counted, formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { useQueueStats } from "../use-queues.js";
import { agreementOf } from "./agreement.js";
import { mostOpinions, useOpinions } from "./use-opinions.js";

/** Who did how many items of a queue, and how far annotators agree. */
export function AgreementView({ projectId, queueId }: { projectId: string; queueId: string }) {
  const stats = useQueueStats(projectId, queueId);
  const opinions = useOpinions(projectId, queueId, true);
  const agreements = opinions.data && agreementOf(opinions.data);
  const shared = agreements?.filter(({ calls }) => calls > 0) ?? [];
  return (
    <section className="agreement" aria-label="Annotators">
      {stats.error !== null && (
        <Failure what="The annotators cannot be read." error={stats.error} onRetry={() => stats.refetch()} />
      )}
      {stats.data?.annotators !== undefined && stats.data.annotators.length > 0 && (
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">annotator</th>
              <th scope="col">completed</th>
              <th scope="col">skipped</th>
            </tr>
          </thead>
          <tbody>
            {stats.data.annotators.map(({ user_id, name, completed, skipped }) => (
              <tr key={user_id}>
                <th scope="row" className="given">
                  {visibleLine(name)}
                </th>
                <td>{formatCount(completed)}</td>
                <td>{formatCount(skipped)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {opinions.error !== null && (
        <Failure what="The answers cannot be read." error={opinions.error} onRetry={() => opinions.refetch()} />
      )}
      {opinions.data === undefined && opinions.error === null && <Waiting what="Comparing the answers" />}
      {agreements !== undefined && shared.length === 0 && (
        <p className="quiet">No item was answered by several annotators, so nothing is said of how far they agree.</p>
      )}
      {shared.map(({ field, calls, alike, alpha }) => (
        <p key={field}>
          <strong className="given">{visibleLine(field)}</strong>: {formatCount(alike)} of {counted(calls, "item")} that
          several answered are answered alike
          {alpha !== undefined && (
            <>
              ,{" "}
              <span title="Krippendorff's alpha for names: 1 is agreement, 0 what chance gives, less is contradiction">
                alpha {alpha.toFixed(2)}
              </span>
            </>
          )}
          .
        </p>
      ))}
      {opinions.data !== undefined && opinions.data.length >= mostOpinions && (
        <p className="quiet">Of the newest {formatCount(mostOpinions)} answers.</p>
      )}
    </section>
  );
}
