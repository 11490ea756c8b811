import type { Rollout } from "@heddle/client/training";
import { Link } from "../../router/routing.js";
import { useMemo } from "react";
import { linkToProject } from "../../project/project-link.js";
import { Failure } from "../../ui/failure.js";
import { counted } from "../../ui/format.js";
import { visibleLine, visibleText } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { formatNumber } from "../numbers.js";
import { skippedWords } from "./groups.js";
import type { GroupSum } from "./groups.js";
import { TokenView } from "./token-view.js";
import type { TokenColour } from "./token-view.js";
import { turnsOf } from "./trajectory.js";
import { useTrajectory } from "./use-rollouts.js";

interface Props {
  projectId: string;
  jobId: string;
  rollout: Rollout;
  group: GroupSum | undefined;
  colour: TokenColour;
  /** Whether it is the one under the cursor among several. */
  isCurrent?: boolean;
}

/** Texts that are longer are cut; the trace has them whole. */
const longestText = 20_000;

/** One rollout: what it earned, its conversation, and the tokens that were sampled. */
export function RolloutView({ projectId, jobId, rollout, group, colour, isCurrent }: Props) {
  const { data, error, refetch } = useTrajectory(jobId, rollout);
  const turns = useMemo(() => turnsOf(data), [data]);
  const { reward, advantage, trained_tokens: trained, skipped, metrics, call_ids: calls } = rollout;
  return (
    <article
      className={isCurrent === true ? "rollout is-current" : "rollout"}
      aria-current={isCurrent}
      aria-label={`Rollout ${rollout.id}`}
    >
      <h3>
        Group {rollout.group}, rollout {rollout.index}
      </h3>
      <p className="job-line">
        <span title={String(reward)}>reward {formatNumber(reward)}</span>
        <span title={String(advantage)}>
          advantage {advantage > 0 && "+"}
          {formatNumber(advantage)}
        </span>
        <span>{counted(trained, "trained token")}</span>
        {group !== undefined && (
          <span className="quiet">
            group mean {formatNumber(group.mean)}, {formatNumber(group.least)} to {formatNumber(group.greatest)}
          </span>
        )}
        {calls.map((id) => (
          <Link
            key={id}
            to="/$entity/$project/calls/$callId"
            params={{ ...linkToProject(projectId).params, callId: id }}
            search={{}}
          >
            trace <span className="mono given">{visibleLine(id.slice(0, 40))}</span>
          </Link>
        ))}
      </p>
      {skipped !== null && <p>Nothing of it is trained: {skippedWords[skipped]}.</p>}
      {metrics !== null && Object.keys(metrics).length > 0 && (
        <p className="job-line quiet">
          {Object.entries(metrics)
            .slice(0, 50)
            .map(([name, value]) => (
              <span key={name} className="given" title={String(value)}>
                {visibleLine(name)} {formatNumber(value)}
              </span>
            ))}
        </p>
      )}
      {error !== null && <Failure what="The trajectory cannot be read." error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Waiting what="Loading the trajectory" />}
      {data === null && <p className="quiet">Its trajectory is not kept.</p>}
      <ol className="rollout-turns">
        {turns.map(({ role, text, tokens, finish }, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- a turn is its place
          <li key={index}>
            <h4 className="quiet given">
              {visibleLine(role.slice(0, 100))}
              {tokens !== undefined && `, ${counted(tokens.length, "token")}`}
              {finish === "length" && ", ended by its length"}
            </h4>
            <p className="rollout-text given">{visibleText(text.slice(0, longestText))}</p>
            {text.length > longestText && (
              <p className="quiet">…{counted(text.length - longestText, "character")} more</p>
            )}
            {tokens !== undefined && (
              <TokenView tokens={tokens} colour={colour} advantage={advantage} isTrained={trained > 0} />
            )}
          </li>
        ))}
      </ol>
    </article>
  );
}
